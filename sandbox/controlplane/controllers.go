package controlplane

import (
	"context"
	"strings"

	"k8s.io/component-base/configz"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/millwright-dev/millwright/sandbox/pki"
)

// controllers is what kube-controller-manager runs here. Left out is what a
// sandbox has no use for (certificate signing, IPAM, storage migration) and
// pod garbage collection, which podgc.go runs at a testable pace.
var controllers = []string{
	names.ServiceAccountTokenController,
	names.ServiceAccountController,
	names.NamespaceController,
	names.GarbageCollectorController,
	names.RootCACertificatePublisherController,
	names.ClusterRoleAggregationController,
	names.DeploymentController,
	names.ReplicaSetController,
	names.ReplicationControllerController,
	names.DaemonSetController,
	names.StatefulSetController,
	names.JobController,
	names.CronJobController,
	names.TTLAfterFinishedController,
	names.DisruptionController,
	names.EndpointsController,
	names.EndpointSliceController,
	names.ResourceQuotaController,
	names.NodeLifecycleController,
	names.TaintEvictionController,
	names.DeviceTaintEvictionController,
	names.ResourceClaimController,
	names.PersistentVolumeBinderController,
	names.PersistentVolumeAttachDetachController,
	names.PersistentVolumeExpanderController,
	names.PersistentVolumeClaimProtectionController,
	names.PersistentVolumeProtectionController,
	names.EphemeralVolumeController,
	names.HorizontalPodAutoscalerController,
}

// startControllers starts kube-controller-manager.
func startControllers(cfg Config, bundle *pki.Bundle, kubeconfig string) *component {
	return launch("kube-controller-manager", func(ctx context.Context) error {
		opts, err := options.NewKubeControllerManagerOptions()
		if err != nil {
			return err
		}
		known, off, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
		if err := parse(opts.Flags(known, off, aliases), controllerFlags(cfg, bundle, kubeconfig)); err != nil {
			return err
		}
		if err := opts.ComponentGlobalsRegistry.Set(); err != nil {
			return err
		}
		config, err := opts.Config(ctx, known, off, aliases)
		if err != nil {
			return err
		}
		defer configz.Delete(app.ConfigzName)
		return app.Run(ctx, config.Complete())
	})
}

func controllerFlags(cfg Config, bundle *pki.Bundle, kubeconfig string) []string {
	flags := []string{
		"--kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		// Every controller under its own account: their RBAC is real, too.
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + bundle.ServiceAccountKey(),
		"--root-ca-file=" + bundle.CACert(),
		"--kube-api-content-type=application/vnd.kubernetes.protobuf",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		"--controllers=" + strings.Join(controllers, ","),
		"--concurrent-deployment-syncs=20",
		"--concurrent-replicaset-syncs=20",
		"--concurrent-statefulset-syncs=20",
		"--concurrent-daemonset-syncs=20",
		"--concurrent-job-syncs=20",
		"--concurrent-gc-syncs=30",
		"--attach-detach-reconcile-sync-period=1m",
		"--allocate-node-cidrs=false",
	}
	if cfg.FastNodeFailure {
		return append(flags,
			"--node-monitor-grace-period=6s",
			"--node-monitor-period=500ms",
			"--node-eviction-rate=100",
			"--unhealthy-zone-threshold=1")
	}
	return append(flags,
		"--node-monitor-grace-period=50s",
		"--node-monitor-period=1s")
}
