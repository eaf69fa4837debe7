package kubelet

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/sandbox/knobs"
	"github.com/millwright-dev/millwright/sandbox/loop"
	"github.com/millwright-dev/millwright/sandbox/nodeclient"
)

// Config is what the kubelets work with.
type Config struct {
	// Nodes are the clients that kubelets write with, Client that of everything else: what
	// a cloud controller would do.
	Nodes     nodeclient.Source
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory // started by the caller after New
	Knobs     *knobs.Live
	Plugins   Plugins
	Clock     clock.Clock
	// Version is the version the kubelets report.
	Version string
	// FastHeartbeat renews leases every 1.5 s instead of every 10 s, for a
	// control plane that gives up on a node after a few seconds.
	FastHeartbeat bool
	// Alive says whether the machine behind a Node runs; nil is that all do. Wake tells when
	// that may have changed.
	Alive func(*corev1.Node) bool
}

// Plugins knows the node parts of storage drivers.
type Plugins interface {
	// Present says whether the driver can mount and unmount on the node now.
	Present(driver, node string) bool
	// Notify registers a function that is called when Present may have changed
	// for a node, or for all if the name is empty.
	Notify(func(node string))
}

const (
	nodeWorkers = 16
	podWorkers  = 32
)

// byNode is the pod informer's index on spec.nodeName.
const byNode = "sandbox-by-node"

// Kubelets plays all kubelets of a cluster. Make it with New.
type Kubelets struct {
	Config
	nodes    *loop.Loop[string]
	pods     *loop.Loop[podKey]
	machines machines
	records  records
	inUse    inUse
	ips      addresses

	podIndex     cache.Indexer
	podLister    corelisters.PodLister
	nodeLister   corelisters.NodeLister
	claimLister  corelisters.PersistentVolumeClaimLister
	volumeLister corelisters.PersistentVolumeLister
	driverLister storagelisters.CSIDriverLister
}

// New registers the kubelets with the informers.
func New(cfg Config) (*Kubelets, error) {
	core := cfg.Informers.Core().V1()
	k := &Kubelets{
		Config:       cfg,
		podIndex:     core.Pods().Informer().GetIndexer(),
		podLister:    core.Pods().Lister(),
		nodeLister:   core.Nodes().Lister(),
		claimLister:  core.PersistentVolumeClaims().Lister(),
		volumeLister: core.PersistentVolumes().Lister(),
		driverLister: cfg.Informers.Storage().V1().CSIDrivers().Lister(),
	}
	k.nodes = loop.New("kubelet-nodes", nodeWorkers, k.syncNode)
	k.pods = loop.New("kubelet-pods", podWorkers, k.syncPod)
	err := core.Pods().Informer().AddIndexers(cache.Indexers{byNode: func(obj any) ([]string, error) {
		return []string{obj.(*corev1.Pod).Spec.NodeName}, nil
	}})
	if err != nil {
		return nil, err
	}
	if err := k.watch(); err != nil {
		return nil, err
	}
	cfg.Plugins.Notify(k.wake)
	cfg.Knobs.OnChange(func() { k.wake("") })
	return k, nil
}

// Run plays until ctx ends.
func (k *Kubelets) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { k.nodes.Run(ctx) })
	wg.Go(func() { k.pods.Run(ctx) })
	wg.Wait()
}

func (k *Kubelets) watch() error {
	core := k.Informers.Core().V1()
	_, err := core.Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { k.nodes.Add(obj.(*corev1.Node).Name) },
		UpdateFunc: func(before, after any) {
			k.nodes.Add(after.(*corev1.Node).Name)
			if concernsPods(before.(*corev1.Node), after.(*corev1.Node)) {
				k.wakePods(after.(*corev1.Node).Name)
			}
		},
		DeleteFunc: func(obj any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				k.nodes.Add(key)
			}
		},
	})
	if err != nil {
		return err
	}
	_, err = core.PersistentVolumes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if knobs.AnnotationsChanged(before.(*corev1.PersistentVolume).Annotations, after.(*corev1.PersistentVolume).Annotations) {
				k.wake("")
			}
		},
	})
	if err != nil {
		return err
	}
	_, err = core.Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    k.podChanged,
		UpdateFunc: func(_, obj any) { k.podChanged(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			k.podChanged(obj)
		},
	})
	return err
}

func (k *Kubelets) podChanged(obj any) {
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		k.pods.Add(keyOf(pod))
	}
}

// concernsPods says whether a change of a node can let one of its pods go on.
func concernsPods(before, after *corev1.Node) bool {
	return !equality.Semantic.DeepEqual(before.Status.VolumesAttached, after.Status.VolumesAttached) ||
		!equality.Semantic.DeepEqual(before.Status.VolumesInUse, after.Status.VolumesInUse) ||
		knobs.AnnotationsChanged(before.Annotations, after.Annotations) ||
		readyStatus(before) != readyStatus(after)
}

// silent says whether the cluster hears nothing of a node's kubelet.
func (k *Kubelets) silent(node *corev1.Node, settings knobs.Settings) bool {
	return settings.On(knobs.KubeletSilent, knobs.OfNode(node)) || k.Alive != nil && !k.Alive(node)
}

// Wake has the kubelet of a node look again whether its machine runs.
func (k *Kubelets) Wake(node string) { k.wake(node) }

// Restart boots the machine of a node anew, if there is one: its containers are gone.
func (k *Kubelets) Restart(node string) {
	if k.machines.reboot(node, k.Clock.Now()) != nil {
		k.wake(node)
	}
}

// wake makes a node and its pods due; an empty name means all nodes.
func (k *Kubelets) wake(node string) {
	if node != "" {
		k.nodes.Add(node)
		k.wakePods(node)
		return
	}
	nodes, err := k.nodeLister.List(labels.Everything())
	if err != nil {
		return // a lister on a local cache has no errors
	}
	for _, n := range nodes {
		k.wake(n.Name)
	}
}

// wakePods makes due all pods of a node, those that are gone from the API but
// not yet from the machine included.
func (k *Kubelets) wakePods(node string) {
	pods, err := k.podIndex.ByIndex(byNode, node)
	if err != nil {
		return // the index exists
	}
	for _, obj := range pods {
		k.podChanged(obj)
	}
	for _, key := range k.inUse.holders(node) {
		k.pods.Add(key)
	}
}
