package enginetest

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// topology lets a scheduler that knows spread, affinity and anti-affinity bind the
// pods where the plan has them, one at a time in any order that works: first
// those on nodes that exist, while there are no others, then the rest. It is
// wrong if some pod never gets its turn.
func (c *checker) topology() {
	x := &binder{}
	var waiting []bound
	for _, n := range c.s.Nodes {
		if n.Deleting() {
			continue
		}
		object := nodeOf(n)
		x.nodes = append(x.nodes, object)
		for _, p := range n.Pods {
			if !p.Terminal() {
				x.pods = append(x.pods, bound{p, object})
			}
		}
		for _, p := range c.placedOn(n) {
			waiting = append(waiting, bound{p, object})
		}
	}
	waiting = x.bind(waiting)
	for i := range c.p.NewNodes {
		n := &c.p.NewNodes[i]
		object := &corev1.Node{Spec: corev1.NodeSpec{Taints: c.s.Pool(n.Pool).Taints}}
		object.Name, object.Labels = fmt.Sprintf("new-%d", i), c.labelsOf(n, n.Choice)
		object.Labels[corev1.LabelHostname] = object.Name
		x.nodes = append(x.nodes, object)
		for _, p := range n.Pods {
			waiting = append(waiting, bound{p, object})
		}
	}
	for _, b := range x.bind(waiting) {
		c.fail("%s cannot be bound to %s beside those that are there: %s", b.pod.Name, b.node.Name, x.objection(b))
	}
}

type bound struct {
	pod  *snapshot.Pod
	node *corev1.Node
}

type binder struct {
	nodes []*corev1.Node
	pods  []bound
}

// bind binds what it can and returns the rest. Pods that mind their company come
// first, as those that do not would have been content later too.
func (x *binder) bind(waiting []bound) []bound {
	for {
		before := len(waiting)
		waiting = slices.DeleteFunc(waiting, func(b bound) bool { return minds(b.pod) && x.try(b) })
		if len(waiting) < before {
			continue
		}
		i := slices.IndexFunc(waiting, func(b bound) bool { return !minds(b.pod) && x.try(b) })
		if i < 0 {
			return waiting
		}
		waiting = slices.Delete(waiting, i, i+1)
	}
}

func minds(p *snapshot.Pod) bool {
	a := p.Spec.Affinity
	return len(p.Spec.TopologySpreadConstraints) > 0 || a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil)
}

func (x *binder) try(b bound) bool {
	if x.objection(b) != "" {
		return false
	}
	x.pods = append(x.pods, b)
	return true
}

// objection is why a pod cannot be bound now.
func (x *binder) objection(b bound) string {
	for i := range b.pod.Spec.TopologySpreadConstraints {
		if k := &b.pod.Spec.TopologySpreadConstraints[i]; k.WhenUnsatisfiable == corev1.DoNotSchedule && !x.spread(b, k) {
			return "spread over " + k.TopologyKey
		}
	}
	if a := b.pod.Spec.Affinity; a != nil {
		if a.PodAffinity != nil && !x.near(b, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) {
			return "affinity"
		}
		if a.PodAntiAffinity != nil && slices.ContainsFunc(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
			return slices.ContainsFunc(x.pods, func(o bound) bool { return selects(&t, b.pod, o.pod) && sameDomain(t.TopologyKey, b.node, o.node) })
		}) {
			return "anti-affinity"
		}
	}
	for _, o := range x.pods {
		a := o.pod.Spec.Affinity
		if a == nil || a.PodAntiAffinity == nil {
			continue
		}
		for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if selects(&t, o.pod, b.pod) && sameDomain(t.TopologyKey, b.node, o.node) {
				return "anti-affinity of " + o.pod.Name
			}
		}
	}
	return ""
}

func (x *binder) near(b bound, terms []corev1.PodAffinityTerm) bool {
	alone, self := true, true
	for i := range terms {
		t := &terms[i]
		met := false
		for _, o := range x.pods {
			if selects(t, b.pod, o.pod) {
				if _, ok := o.node.Labels[t.TopologyKey]; ok {
					alone = false
				}
				met = met || sameDomain(t.TopologyKey, b.node, o.node)
			}
		}
		if met {
			continue
		}
		self = self && selects(t, b.pod, b.pod)
		if !self || !alone {
			return false
		}
	}
	return true
}

func (x *binder) spread(b bound, k *corev1.TopologySpreadConstraint) bool {
	domain, ok := b.node.Labels[k.TopologyKey]
	if !ok {
		return false
	}
	sel, err := metav1.LabelSelectorAsSelector(k.LabelSelector)
	if err != nil {
		return false
	}
	counts := map[string]int{}
	for _, n := range x.nodes {
		if v, ok := n.Labels[k.TopologyKey]; ok && counted(b.pod, n, k) {
			counts[v] += 0
			for _, o := range x.pods {
				if o.node == n && o.pod.Namespace == b.pod.Namespace && o.pod.DeletionTimestamp == nil && sel.Matches(labels.Set(o.pod.Labels)) {
					counts[v]++
				}
			}
		}
	}
	least := -1
	for _, n := range counts {
		if least < 0 || n < least {
			least = n
		}
	}
	if k.MinDomains != nil && len(counts) < int(*k.MinDomains) {
		least = 0
	}
	own := 0
	if sel.Matches(labels.Set(b.pod.Labels)) {
		own = 1
	}
	return counts[domain]+own-max(least, 0) <= int(k.MaxSkew)
}

func counted(p *snapshot.Pod, n *corev1.Node, k *corev1.TopologySpreadConstraint) bool {
	if k.NodeAffinityPolicy == nil || *k.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		if ok, err := nodeaffinity.GetRequiredNodeAffinity(p.Pod).Match(n); err != nil || !ok {
			return false
		}
	}
	if k.NodeTaintsPolicy != nil && *k.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor {
		for i := range n.Spec.Taints {
			if n.Spec.Taints[i].Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool { return covers(t, &n.Spec.Taints[i]) }) {
				return false
			}
		}
	}
	return true
}

// selects reports whether a term of one pod is about another; terms of scenarios
// are about their own namespace.
func selects(t *corev1.PodAffinityTerm, owner, other *snapshot.Pod) bool {
	sel, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	return err == nil && owner.Namespace == other.Namespace && sel.Matches(labels.Set(other.Labels))
}

func sameDomain(key string, a, b *corev1.Node) bool {
	x, ok := a.Labels[key]
	y, ok2 := b.Labels[key]
	return ok && ok2 && x == y
}
