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

// turns is how often the order in which pods are bound is changed.
const turns = 20

// topology lets a scheduler that knows spread, affinity and anti-affinity bind the
// pods where the plan has them, one at a time: first those on nodes that are there,
// while there are no others, then those on machines that are on their way, and those
// on new ones; or all of them once all nodes are there, by name or evenly. Pods that
// never get their turn come first the next time: where pods are spread over what
// others add to it matters who comes first. It is wrong if no order is found in which
// all are bound.
func (c *checker) topology() {
	var left [3]*urgency
	for i := range left {
		left[i] = &urgency{left: map[*snapshot.Pod]int{}}
	}
	var early *binder
	var stuck []bound
	for range turns {
		early = c.binder()
		stuck = early.bind(c.coming(early, true), left[0])
		stuck = early.bind(append(stuck, c.coming(early, false)...), left[0])
		stuck = early.bind(append(stuck, c.comingNew(early)...), left[0])
		if len(stuck) == 0 {
			return
		}
		late, even := c.binder(), c.binder()
		rest := late.bind(c.all(late), left[1])
		last := even.bindEvenly(c.all(even), left[2])
		if len(rest) == 0 || len(last) == 0 {
			return
		}
		left[0].add(stuck)
		left[1].add(rest)
		left[2].add(last)
	}
	for _, b := range stuck {
		c.fail("%s cannot be bound to %s beside those that are there: %s", b.pod.Name, b.node.Name, early.objection(b))
	}
}

// binder knows no node yet.
func (c *checker) binder() *binder { return &binder{namespaces: c.s.Namespaces} }

// all are all pods with all nodes.
func (c *checker) all(x *binder) []bound {
	return append(append(c.coming(x, true), c.coming(x, false)...), c.comingNew(x)...)
}

// coming adds the nodes that are there, or those on their way, with the pods that run
// there, and returns the pods that the plan puts there.
func (c *checker) coming(x *binder, there bool) []bound {
	var out []bound
	for _, n := range c.s.Nodes {
		if n.Deleting() || there != (n.Object != nil) {
			continue
		}
		object := nodeOf(n)
		x.nodes = append(x.nodes, object)
		for _, p := range n.Pods {
			if !p.Terminal() {
				x.pods = append(x.pods, bound{p, object})
			}
		}
		c.start(x, object, n.Pods)
		for _, p := range c.placedOn(n) {
			out = append(out, bound{p, object})
		}
	}
	return out
}

// start adds the DaemonSets' pods that come with a node, beside those that run there.
func (c *checker) start(x *binder, node *corev1.Node, there []*snapshot.Pod) {
	for _, d := range c.s.DaemonSets {
		if !slices.ContainsFunc(there, d.Owns) && c.repelled(d.Pod, node) == "" {
			x.pods = append(x.pods, bound{d.Pod, node})
		}
	}
}

// comingNew adds the new nodes, and returns the pods that the plan puts there.
func (c *checker) comingNew(x *binder) []bound {
	var out []bound
	for i := range c.p.NewNodes {
		n := &c.p.NewNodes[i]
		object := &corev1.Node{Spec: corev1.NodeSpec{Taints: c.s.Pool(n.Pool).Taints}}
		object.Name, object.Labels = fmt.Sprintf("new-%d", i), c.labelsOf(n, n.Choice)
		object.Labels[corev1.LabelHostname] = object.Name
		x.nodes = append(x.nodes, object)
		c.start(x, object, nil)
		for _, p := range n.Pods {
			out = append(out, bound{p, object})
		}
	}
	return out
}

type bound struct {
	pod  *snapshot.Pod
	node *corev1.Node
}

type binder struct {
	nodes      []*corev1.Node
	pods       []bound
	namespaces map[string]map[string]string
}

func constrained(p *snapshot.Pod) bool {
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
			return slices.ContainsFunc(x.pods, func(o bound) bool { return x.selects(&t, b.pod, o.pod) && sameDomain(t.TopologyKey, b.node, o.node) })
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
			if x.selects(&t, o.pod, b.pod) && sameDomain(t.TopologyKey, b.node, o.node) {
				return "anti-affinity of " + o.pod.Name
			}
		}
	}
	return ""
}

// near reports whether every term has a pod in its domain that all terms are
// about; or there is no such pod in any domain, and the pod would be the first.
func (x *binder) near(b bound, terms []corev1.PodAffinityTerm) bool {
	all := func(o *snapshot.Pod) bool {
		return !slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return !x.selects(&t, b.pod, o) })
	}
	alone, met := true, true
	for i := range terms {
		key := terms[i].TopologyKey
		if _, ok := b.node.Labels[key]; !ok {
			return false
		}
		here := false
		for _, o := range x.pods {
			if _, ok := o.node.Labels[key]; ok && all(o.pod) {
				alone = false
				here = here || sameDomain(key, b.node, o.node)
			}
		}
		met = met && here
	}
	return met || alone && all(b.pod)
}

func (x *binder) spread(b bound, k *corev1.TopologySpreadConstraint) bool {
	domain, ok := b.node.Labels[k.TopologyKey]
	if !ok {
		return false
	}
	sel, err := metav1.LabelSelectorAsSelector(withOwn(k.LabelSelector, b.pod, k.MatchLabelKeys, nil))
	if err != nil {
		return false
	}
	counts := map[string]int{}
	for _, n := range x.nodes {
		if v, ok := n.Labels[k.TopologyKey]; ok && counted(b.pod, n, k) {
			counts[v] += 0
			for _, o := range x.pods {
				if o.node == n && !sel.Empty() && o.pod.Namespace == b.pod.Namespace && o.pod.DeletionTimestamp == nil && sel.Matches(labels.Set(o.pod.Labels)) {
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
	for i := range p.Spec.TopologySpreadConstraints {
		other := &p.Spec.TopologySpreadConstraints[i]
		if _, ok := n.Labels[other.TopologyKey]; !ok && other.WhenUnsatisfiable == corev1.DoNotSchedule {
			return false
		}
	}
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

// selects reports whether a term of one pod is about another.
func (x *binder) selects(t *corev1.PodAffinityTerm, owner, other *snapshot.Pod) bool {
	inside := slices.Contains(t.Namespaces, other.Namespace) || t.NamespaceSelector == nil && len(t.Namespaces) == 0 && owner.Namespace == other.Namespace
	if t.NamespaceSelector != nil {
		sel, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
		own := labels.Merge(labels.Set{corev1.LabelMetadataName: other.Namespace}, x.namespaces[other.Namespace])
		inside = inside || err == nil && sel.Matches(own)
	}
	sel, err := metav1.LabelSelectorAsSelector(withOwn(t.LabelSelector, owner, t.MatchLabelKeys, t.MismatchLabelKeys))
	return inside && err == nil && sel.Matches(labels.Set(other.Labels))
}

// withOwn is a selector as the API server completes it from the pod's labels.
func withOwn(s *metav1.LabelSelector, p *snapshot.Pod, match, mismatch []string) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	out := s.DeepCopy()
	for key, value := range p.Labels {
		if slices.Contains(match, key) {
			out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
		}
		if slices.Contains(mismatch, key) {
			out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}})
		}
	}
	return out
}

func sameDomain(key string, a, b *corev1.Node) bool {
	x, ok := a.Labels[key]
	y, ok2 := b.Labels[key]
	return ok && ok2 && x == y
}
