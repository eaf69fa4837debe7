// Package watch follows the pods and Nodes of a cluster as a user sees them, and keeps when
// each was first seen created, bound and Running.
//
//	w, err := watch.Start(ctx, client, metav1.NamespaceDefault)
//	v := w.Now()   // a copy: pods, Nodes, when a Node last came or went, how many evictions
//
// Times are those of seeing, by this machine's clock; what there is at the start counts as
// seen then.
package watch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Pod is what is known of a pod that exists.
type Pod struct {
	UID  types.UID
	Name string
	// Node is where it is bound, empty if it is not.
	Node string
	// Created, Bound and Running are when it was first seen so; zero if not yet.
	Created, Bound, Running time.Time
	// Leaving pods are being deleted. Daemon pods are those of DaemonSets; Over is one that
	// has succeeded or failed.
	Leaving, Daemon, Over bool
}

// Node is what is known of a Node that exists. Labels are read-only.
type Node struct {
	Name, ProviderID string
	Labels           map[string]string
	Leaving          bool
}

// View is the cluster at one instant, pods and Nodes in no order.
type View struct {
	Pods  []Pod
	Nodes []Node
	// Changed is when a Node last came or went.
	Changed time.Time
	// Evictions counts the pods that were evicted, ever.
	Evictions int
}

// Watch follows a cluster. It is safe for concurrent use.
type Watch struct {
	namespace string

	mu      sync.Mutex
	pods    map[types.UID]Pod
	nodes   map[string]Node
	changed time.Time
	evicted map[types.UID]bool
}

// Client is one for a cluster that shares its CPUs with what is measured: it reads and writes
// protobuf, which costs both sides a fraction of JSON.
func Client(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	return kubernetes.NewForConfig(config)
}

// Start begins to follow the pods of a namespace and all Nodes, until ctx ends.
func Start(ctx context.Context, client kubernetes.Interface, namespace string) (*Watch, error) {
	w := &Watch{namespace: namespace, pods: map[types.UID]Pod{}, nodes: map[string]Node{}, evicted: map[types.UID]bool{}, changed: time.Now()}
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.seePod(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { w.seePod(o.(*corev1.Pod)) },
		DeleteFunc: w.forgetPod,
	})
	if err != nil {
		return nil, err
	}
	_, err = factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.seeNode(o.(*corev1.Node)) },
		UpdateFunc: func(_, o any) { w.seeNode(o.(*corev1.Node)) },
		DeleteFunc: w.forgetNode,
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return w, ctx.Err()
}

// Now is the cluster as it was last seen.
func (w *Watch) Now() View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return View{slices.Collect(maps.Values(w.pods)), slices.Collect(maps.Values(w.nodes)), w.changed, len(w.evicted)}
}

func (w *Watch) seePod(p *corev1.Pod) {
	if p.Namespace != w.namespace {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, known := time.Now(), w.pods[p.UID]
	if known.Created.IsZero() {
		known.Created = now
	}
	if known.Bound.IsZero() && p.Spec.NodeName != "" {
		known.Bound = now
	}
	if known.Running.IsZero() && p.Status.Phase == corev1.PodRunning {
		known.Running = now
	}
	known.UID, known.Name, known.Node = p.UID, p.Name, p.Spec.NodeName
	known.Leaving = p.DeletionTimestamp != nil
	known.Over = p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	known.Daemon = slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
	if evicted(p) {
		w.evicted[p.UID] = true
	}
	w.pods[p.UID] = known
}

func (w *Watch) forgetPod(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	p := o.(*corev1.Pod)
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.Namespace == w.namespace && evicted(p) {
		w.evicted[p.UID] = true
	}
	delete(w.pods, p.UID)
}

func (w *Watch) seeNode(n *corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.nodes[n.Name]; !known {
		w.changed = time.Now()
	}
	w.nodes[n.Name] = Node{n.Name, n.Spec.ProviderID, n.Labels, n.DeletionTimestamp != nil}
}

func (w *Watch) forgetNode(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.nodes, o.(*corev1.Node).Name)
	w.changed = time.Now()
}

func evicted(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "EvictionByEvictionAPI" {
			return true
		}
	}
	return false
}

// Until looks often until something is true, or ctx ends; the error is ctx's cause.
func Until(ctx context.Context, is func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}
