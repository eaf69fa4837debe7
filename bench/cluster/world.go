package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/millwright-dev/millwright/cloud/kwok"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/sandbox/child"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

// world is the sandbox, and what a user sees of it. Safe for concurrent use once made.
type world struct {
	cfg        Config
	kubeconfig string
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	apply      *harness.Applier
	machines   map[catalog.Key]node

	mu    sync.Mutex
	pods  map[types.UID]pod
	nodes map[string]node
	// changed is when a Node last came or went.
	changed time.Time
	// evictions are pods that were evicted, ever.
	evictions map[types.UID]bool
}

// pod is what is known of a pod that exists.
type pod struct {
	created, bound, running time.Time // as seen; zero if not yet
	leaving                 bool
}

// node is a machine that exists.
type node struct {
	cpus  int64
	price float64
}

func newWorld(ctx context.Context, cfg Config, sandbox *child.Cluster) (*world, error) {
	w := &world{
		cfg: cfg, kubeconfig: sandbox.Kubeconfig(), machines: machines(),
		pods: map[types.UID]pod{}, nodes: map[string]node{}, evictions: map[types.UID]bool{}, changed: time.Now(),
	}
	rest, err := sandbox.RESTConfig()
	if err != nil {
		return nil, err
	}
	rest.QPS, rest.Burst = 500, 1000
	if w.client, err = kubernetes.NewForConfig(rest); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if w.dynamic, err = dynamic.NewForConfig(rest); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if w.apply, err = harness.NewApplier(rest); err != nil {
		return nil, err
	}
	if err := w.apply.Files(ctx, filepath.Join(cfg.Root, "deploy/crds"), filepath.Join(cfg.Root, "deploy/rbac")); err != nil {
		return nil, err
	}
	return w, w.watch(ctx)
}

// machines are CPUs and $/h by the catalogue. A Node's own capacity is not asked: Karpenter's
// KWOK provider gives it what the NodeClaim requests.
func machines() map[catalog.Key]node {
	out := map[catalog.Key]node{}
	for _, t := range kwok.KWOKCatalogue() {
		for i := range t.Offerings {
			out[t.Offerings[i].Key(t.Name)] = node{t.Capacity.Cpu().Value(), t.Offerings[i].Price}
		}
	}
	return out
}

func (w *world) watch(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(w.client, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.seePod(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { w.seePod(o.(*corev1.Pod)) },
		DeleteFunc: w.forgetPod,
	})
	if err != nil {
		return err
	}
	_, err = factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.seeNode(o.(*corev1.Node)) },
		UpdateFunc: func(_, o any) { w.seeNode(o.(*corev1.Node)) },
		DeleteFunc: w.forgetNode,
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return ctx.Err()
}

func (w *world) seePod(p *corev1.Pod) {
	if p.Namespace != metav1.NamespaceDefault {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, known := time.Now(), w.pods[p.UID]
	if known.created.IsZero() {
		known.created = now
	}
	if known.bound.IsZero() && p.Spec.NodeName != "" {
		known.bound = now
	}
	if known.running.IsZero() && p.Status.Phase == corev1.PodRunning {
		known.running = now
	}
	known.leaving = p.DeletionTimestamp != nil
	if evicted(p) {
		w.evictions[p.UID] = true
	}
	w.pods[p.UID] = known
}

func (w *world) forgetPod(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	p := o.(*corev1.Pod)
	w.mu.Lock()
	defer w.mu.Unlock()
	if evicted(p) {
		w.evictions[p.UID] = true
	}
	delete(w.pods, p.UID)
}

func (w *world) seeNode(n *corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.nodes[n.Name]; !known {
		w.changed = time.Now()
	}
	key := catalog.Key{
		Type: n.Labels[corev1.LabelInstanceTypeStable], Zone: n.Labels[corev1.LabelTopologyZone],
		CapacityType: n.Labels[catalog.CapacityTypeLabel],
	}
	w.nodes[n.Name] = w.machines[key]
}

func (w *world) forgetNode(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.nodes, o.(*corev1.Node).Name)
	w.changed = time.Now()
}

// clear takes off what a turn has left, so that the next one begins with nothing. Finalizers
// are taken off as well: their controller is gone.
func (w *world) clear(ctx context.Context) error {
	if err := w.nothing(ctx); err != nil {
		return fmt.Errorf("clearing the cluster: %w", err)
	}
	pool := schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
	claim := schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	for _, kind := range []schema.GroupVersionResource{pool, claim, corev1.SchemeGroupVersion.WithResource("nodes")} {
		if err := w.removeAll(ctx, kind); err != nil {
			return fmt.Errorf("clearing the cluster of %s: %w", kind.Resource, err)
		}
	}
	records := metav1.ListOptions{LabelSelector: "millwright.dev/kwok-machine=true"}
	if err := w.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).DeleteCollection(ctx, metav1.DeleteOptions{}, records); err != nil {
		return fmt.Errorf("clearing the simulated cloud: %w", err)
	}
	return w.until(ctx, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.pods) == 0 && len(w.nodes) == 0
	})
}

func (w *world) removeAll(ctx context.Context, kind schema.GroupVersionResource) error {
	list, err := w.dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		name := list.Items[i].GetName()
		if len(list.Items[i].GetFinalizers()) > 0 {
			if _, err := w.dynamic.Resource(kind).Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if err := w.dynamic.Resource(kind).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// until looks often until something is true.
func (w *world) until(ctx context.Context, is func() bool) error {
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
