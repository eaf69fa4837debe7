package doctor

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func poolRef(np *karpv1.NodePool) plan.ObjectRef {
	return plan.ObjectRef{Kind: "NodePool", Name: np.Name}
}

// class is that of the pods that a template makes.
func class(namespace string, t *corev1.PodTemplateSpec) *snapshot.Class {
	var classes snapshot.Classes
	pod := &corev1.Pod{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: t.Spec}
	pod.Namespace = namespace
	return classes.Pod(pod).Class
}

// mayRun reports whether the labels of a pool's nodes let pods of a class run there, as far as
// the pool says; what it leaves open may be as they want it. Taints are not looked at.
func (in *Inventory) mayRun(c *snapshot.Class, np *karpv1.NodePool) bool {
	return in.offers(np, c.Terms)
}

// offers reports whether nodes of a pool may have the labels that one of some terms wants.
func (in *Inventory) offers(np *karpv1.NodePool, terms []requirement.Set) bool {
	return meets(in.nodes(np), terms, func(string) bool { return true })
}

// nodes are the labels of a pool's nodes, as far as the pool says.
func (in *Inventory) nodes(np *karpv1.NodePool) requirement.Set {
	nodes, known := in.labels[np]
	if !known {
		pool := cluster.Pool(np, cluster.Options{Offline: true})
		nodes = pool.Requirements.With(requirement.Must(snapshot.PoolLabel, requirement.In, pool.Name))
		if in.labels == nil {
			in.labels = map[*karpv1.NodePool]requirement.Set{}
		}
		in.labels[np] = nodes
	}
	return nodes
}

// meets reports whether nodes with some labels are ones that one of some terms wants.
func meets(nodes requirement.Set, terms []requirement.Set, open func(key string) bool) bool {
	return slices.ContainsFunc(terms, func(term requirement.Set) bool {
		_, conflict := nodes.Conflict(term, open)
		return !conflict
	})
}

// admits reports whether pods of a class may run on nodes of a pool that have started.
func (in *Inventory) admits(c *snapshot.Class, np *karpv1.NodePool) bool {
	_, shut := taints.Untolerated(np.Spec.Template.Spec.Taints, c.Tolerations)
	return !shut && in.mayRun(c, np)
}

// tolerate is the toleration of a taint, whatever its value.
func tolerate(t corev1.Taint) map[string]any {
	return map[string]any{"key": t.Key, "operator": "Exists", "effect": string(t.Effect)}
}

func text(t corev1.Taint) string { return t.ToString() }
