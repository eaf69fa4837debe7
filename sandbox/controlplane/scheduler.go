package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/component-base/configz"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// schedulerConfig is where the scheduler's own configuration file begins. All nodes are
// scored, so that a placement does not depend on how many nodes there are.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %q
  contentType: application/vnd.kubernetes.protobuf
  qps: 2000
  burst: 4000
enableProfiling: false
percentageOfNodesToScore: 100
`

// schedulerConfigz is the name the scheduler registers its settings under.
const schedulerConfigz = "componentconfig"

// startScheduler starts kube-scheduler.
func startScheduler(cfg Config, kubeconfig string) *component {
	return launch("kube-scheduler", func(ctx context.Context) error {
		file := filepath.Join(cfg.Dir, "scheduler.yaml")
		if err := os.WriteFile(file, append(fmt.Appendf(nil, schedulerConfig, kubeconfig), cfg.SchedulerConfig...), 0o600); err != nil {
			return fmt.Errorf("writing configuration: %w", err)
		}
		opts := options.NewOptions()
		err := parse(*opts.Flags, []string{
			"--config=" + file,
			"--secure-port=0",
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
		})
		if err != nil {
			return err
		}
		if err := opts.ComponentGlobalsRegistry.Set(); err != nil {
			return err
		}
		cc, sched, err := app.Setup(ctx, opts)
		if err != nil {
			return err
		}
		defer configz.Delete(schedulerConfigz)
		return app.Run(ctx, cc, sched)
	})
}
