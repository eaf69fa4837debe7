package consolidation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kwok "sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// cache answers as the cache of a running controller does: from memory, by index,
// with copies. Kinds that the cluster has none of are left to an empty fake.
type cache struct {
	client.Client
	pools []*karpv1.NodePool
	nodes map[string]*corev1.Node
	// pods are by node and UID.
	pods map[string]map[types.UID]*corev1.Pod
}

func newCache(pools []*karpv1.NodePool) *cache {
	return &cache{
		Client: fake.NewClientBuilder().WithIndex(&corev1.Pod{}, "spec.nodeName", func(client.Object) []string { return nil }).Build(),
		pools:  pools, nodes: map[string]*corev1.Node{}, pods: map[string]map[types.UID]*corev1.Pod{},
	}
}

func (c *cache) add(m *Machine) {
	c.nodes[m.Name], c.pods[m.Name] = m.Node, map[types.UID]*corev1.Pod{}
	for uid, p := range m.Pods {
		c.pods[m.Name][uid] = p
	}
}

func (c *cache) remove(m *Machine) {
	delete(c.nodes, m.Name)
	delete(c.pods, m.Name)
}

func (c *cache) bind(p *corev1.Pod) { c.pods[p.Spec.NodeName][p.UID] = p }

// wait keeps the pods that have no node, for which kube-scheduler has found no room.
func (c *cache) wait(pods []*corev1.Pod) {
	c.pods[""] = map[types.UID]*corev1.Pod{}
	for _, p := range pods {
		w := *p
		w.Status.Phase = corev1.PodPending
		w.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		c.pods[""][p.UID] = &w
	}
}

// gone forgets the pods that a machine has no longer, and returns their names.
func (c *cache) gone(m *Machine) []client.ObjectKey {
	var out []client.ObjectKey
	for uid, p := range c.pods[m.Name] {
		if m.Pods[uid] == nil {
			delete(c.pods[m.Name], uid)
			out = append(out, client.ObjectKeyFromObject(p))
		}
	}
	return out
}

// Get finds nodes and pools.
func (c *cache) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	switch into := into.(type) {
	case *corev1.Node:
		n := c.nodes[key.Name]
		if n == nil {
			return errors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
		}
		n.DeepCopyInto(into)
		return nil
	case *karpv1.NodePool:
		for _, p := range c.pools {
			if p.Name == key.Name {
				p.DeepCopyInto(into)
				return nil
			}
		}
	}
	return c.Client.Get(ctx, key, into, opts...)
}

// List finds pods by node, or by namespace and labels, and all nodes and pools.
func (c *cache) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	switch into := into.(type) {
	case *corev1.PodList:
		into.Items = c.list((&client.ListOptions{}).ApplyOptions(opts))
	case *corev1.NodeList:
		for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
			into.Items = append(into.Items, *c.nodes[name].DeepCopy())
		}
	case *karpv1.NodePoolList:
		for _, p := range c.pools {
			into.Items = append(into.Items, *p.DeepCopy())
		}
	default:
		if err := c.Client.List(ctx, into, opts...); err != nil {
			return fmt.Errorf("listing %T: %w", into, err)
		}
	}
	return nil
}

func (c *cache) list(o *client.ListOptions) []corev1.Pod {
	nodes := slices.Sorted(maps.Keys(c.pods))
	if o.FieldSelector != nil {
		name, _ := o.FieldSelector.RequiresExactMatch("spec.nodeName")
		nodes = []string{name}
	}
	var out []corev1.Pod
	for _, node := range nodes {
		on := slices.SortedFunc(maps.Values(c.pods[node]), func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
		for _, p := range on {
			if (o.Namespace == "" || o.Namespace == p.Namespace) && (o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(p.Labels))) {
				out = append(out, *p.DeepCopy())
			}
		}
	}
	return out
}

// provider sells the catalogue.
type provider struct {
	cloudprovider.CloudProvider
	types []*cloudprovider.InstanceType
}

// GetInstanceTypes is the same for every pool.
func (p *provider) GetInstanceTypes(context.Context, *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return p.types, nil
}

// GetSupportedNodeClasses is that of the pools.
func (p *provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&kwok.KWOKNodeClass{}}
}

// Name is used in metrics only.
func (p *provider) Name() string { return "bench" }
