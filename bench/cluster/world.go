package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/bench/watch"
	"github.com/millwright-dev/millwright/cloud/kwok"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/sandbox/child"
	"github.com/millwright-dev/millwright/sandbox/harness"
)

var nodePools = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}

// world is the sandbox, and what a user sees of it. Safe for concurrent use once made.
type world struct {
	cfg        Config
	kubeconfig string
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	apply      *harness.Applier
	machines   map[catalog.Key]node

	seen *watch.Watch
}

// node is a machine that exists.
type node struct {
	cpus  int64
	price float64
}

func newWorld(ctx context.Context, cfg Config, sandbox *child.Cluster) (*world, error) {
	w := &world{cfg: cfg, kubeconfig: sandbox.Kubeconfig(), machines: machines()}
	rest, err := sandbox.RESTConfig()
	if err != nil {
		return nil, err
	}
	rest.QPS, rest.Burst = 500, 1000
	if w.client, err = watch.Client(rest); err != nil {
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
	w.seen, err = watch.Start(ctx, w.client, metav1.NamespaceDefault)
	return w, err
}

// now is the cluster as it was last seen, but for the Node that is there all the time.
func (w *world) now() watch.View {
	v := w.seen.Now()
	v.Nodes = slices.DeleteFunc(v.Nodes, func(n watch.Node) bool { return n.Name == homeName })
	return v
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

// machine is what the catalogue says of a Node.
func (w *world) machine(n watch.Node) node {
	return w.machines[catalog.Key{
		Type: n.Labels[corev1.LabelInstanceTypeStable], Zone: n.Labels[corev1.LabelTopologyZone],
		CapacityType: n.Labels[catalog.CapacityTypeLabel],
	}]
}

// clear takes off what a turn has left, so that the next one begins with nothing: pods first,
// as only a kubelet ends them at once. Finalizers are taken off as well: their controller is
// gone.
func (w *world) clear(ctx context.Context) error {
	if err := w.nothing(ctx); err != nil {
		return fmt.Errorf("clearing the cluster: %w", err)
	}
	if err := watch.Until(ctx, func() bool { return len(w.now().Pods) == 0 }); err != nil {
		return fmt.Errorf("clearing the cluster of pods: %w", err)
	}
	claim := schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	policy := schema.GroupVersionResource{Group: "millwright.dev", Version: "v1alpha1", Resource: "nodepolicies"}
	for _, kind := range []schema.GroupVersionResource{policy, nodePools, claim, corev1.SchemeGroupVersion.WithResource("nodes")} {
		if err := w.removeAll(ctx, kind); err != nil {
			return fmt.Errorf("clearing the cluster of %s: %w", kind.Resource, err)
		}
	}
	records := metav1.ListOptions{LabelSelector: "millwright.dev/kwok-machine=true"}
	if err := w.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).DeleteCollection(ctx, metav1.DeleteOptions{}, records); err != nil {
		return fmt.Errorf("clearing the simulated cloud: %w", err)
	}
	if err := watch.Until(ctx, func() bool { return len(w.now().Nodes) == 0 }); err != nil {
		return fmt.Errorf("clearing the cluster of nodes: %w", err)
	}
	return nil
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
