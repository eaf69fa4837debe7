package ec2

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/millwright-dev/millwright/bench/process"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

// contestant is a controller that can be run.
type contestant struct {
	title string
	// requests is the counter of the client's requests.
	requests string
	// command are the program and its arguments, and what is added to the environment.
	command func(w *world, metrics, health string) (argv, env []string)
}

// Names of the contestants.
const (
	Karpenter  = "karpenter"
	Millwright = "millwright"
)

var contestants = map[string]contestant{
	Millwright: {"Millwright", "rest_client_requests_total", func(w *world, metrics, health string) ([]string, []string) {
		return []string{
			w.cfg.Millwright, "run", "--kubeconfig", w.account, "--provider", "aws",
			"--metrics-port", metrics, "--health-probe-port", health,
		}, append(w.aws.Environment(), "POD_NAMESPACE="+harness.Namespace)
	}},
	Karpenter: {"Karpenter", "client_go_request_total", func(w *world, metrics, health string) ([]string, []string) {
		return []string{w.cfg.Karpenter}, append(w.aws.Environment(),
			"INTERRUPTION_QUEUE="+w.aws.Cluster, // its name, where Millwright also takes a URL
			"KUBECONFIG="+w.kubeconfig, "SYSTEM_NAMESPACE=kube-system", "DISABLE_LEADER_ELECTION=true",
			"METRICS_PORT="+metrics, "HEALTH_PROBE_PORT="+health,
		)
	}},
}

// start runs a contestant and waits until it is ready. Its log is added to that of earlier
// lives in the same world.
func (w *world) start(ctx context.Context, c contestant) (*process.Process, error) {
	metrics, health, err := process.Ports()
	if err != nil {
		return nil, err
	}
	argv, env := c.command(w, metrics, health)
	return process.Start(ctx, process.Command{
		Argv: argv, Env: slices.Clip(env), Metrics: metrics, Health: health, Requests: c.requests,
		Log: filepath.Join(w.cfg.Dir, w.name+".log"),
	})
}
