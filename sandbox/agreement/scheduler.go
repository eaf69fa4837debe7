package agreement

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Scheduler is kube-scheduler's filters over one cluster. It is not safe for
// concurrent use.
type Scheduler struct {
	framework framework.Framework
	stores    informers.SharedInformerFactory
	cluster   *cluster
}

// NewScheduler starts with an empty cluster. Its background work ends with ctx.
func NewScheduler(ctx context.Context) (*Scheduler, error) {
	metrics.Register()
	cfg, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("reading kube-scheduler's defaults: %w", err)
	}
	client := fake.NewClientset()
	// The informers are not started: their stores are filled by hand.
	s := &Scheduler{stores: informers.NewSharedInformerFactory(client, 0), cluster: newCluster()}
	s.framework, err = runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), withoutDevices(&cfg.Profiles[0]),
		runtime.WithClientSet(client),
		runtime.WithInformerFactory(s.stores),
		runtime.WithSnapshotSharedLister(s.cluster),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(s.stores.Storage().V1().CSINodes().Lister())),
		runtime.WithParallelism(1),
	)
	if err != nil {
		return nil, fmt.Errorf("making kube-scheduler's filters: %w", err)
	}
	return s, nil
}

// withoutDevices leaves out dynamic resources, which need a manager of their own:
// plans refuse pods with resource claims.
func withoutDevices(p *config.KubeSchedulerProfile) *config.KubeSchedulerProfile {
	enabled := &p.Plugins.MultiPoint.Enabled
	*enabled = slices.DeleteFunc(*enabled, func(x config.Plugin) bool { return x.Name == names.DynamicResources })
	return p
}

// Reset forgets the cluster and starts one with this storage and these namespaces.
func (s *Scheduler) Reset(storage Storage, namespaces []*corev1.Namespace) error {
	*s.cluster = *newCluster()
	core, store := s.stores.Core().V1(), s.stores.Storage().V1()
	for _, fill := range []func() error{
		func() error { return replace(core.Namespaces().Informer(), namespaces) },
		func() error { return replace(core.PersistentVolumes().Informer(), storage.Volumes) },
		func() error { return replace(core.PersistentVolumeClaims().Informer(), storage.Claims) },
		func() error { return replace(store.StorageClasses().Informer(), storage.Classes) },
		func() error { return replace(store.VolumeAttachments().Informer(), storage.Attachments) },
		func() error { return replace(store.CSINodes().Informer(), []*storagev1.CSINode(nil)) },
	} {
		if err := fill(); err != nil {
			return err
		}
	}
	return nil
}

func replace[T any](informer cache.SharedIndexInformer, objects []T) error {
	list := make([]any, len(objects))
	for i, o := range objects {
		list[i] = o
	}
	return informer.GetIndexer().Replace(list, "")
}

// AddNode adds a node and what its CSI drivers say about it.
func (s *Scheduler) AddNode(n *corev1.Node, csi *storagev1.CSINode) error {
	s.cluster.addNode(n)
	return s.stores.Storage().V1().CSINodes().Informer().GetIndexer().Add(csi)
}

// Objection is why kube-scheduler would not bind the pod to the node now, empty if
// it would.
func (s *Scheduler) Objection(ctx context.Context, p *corev1.Pod, node string) string {
	state := framework.NewCycleState()
	result, status, _ := s.framework.RunPreFilterPlugins(ctx, state, p)
	if !status.IsSuccess() {
		return text(status)
	}
	if !result.AllNodes() && !result.NodeNames.Has(node) {
		return "the node was ruled out before filtering"
	}
	info, err := s.cluster.Get(node)
	if err != nil {
		return err.Error()
	}
	if status := s.framework.RunFilterPlugins(ctx, state, p, info); !status.IsSuccess() {
		return text(status)
	}
	return ""
}

func text(s *fwk.Status) string { return s.Plugin() + ": " + s.Message() }

// Bind puts a pod on a node, whatever the filters say, and makes the volumes that
// its claims wait for.
func (s *Scheduler) Bind(p *corev1.Pod, node string) error {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	if err := s.cluster.bind(p); err != nil {
		return err
	}
	info, err := s.cluster.Get(node)
	if err != nil {
		return err
	}
	return s.provision(p, info.Node())
}
