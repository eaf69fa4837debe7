package demand

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// PodTopology is the inter-pod constraints of all pods that matter: topology spread, pod
// affinity and anti-affinity, with counts for each. It is nil where no pod has any.
type PodTopology struct {
	Counts []*topology.DomainCounts
	// Owners are what pods that state each rule demand of their node: all that state a
	// spread agree on which nodes it counts.
	Owners []*Node
	byID   map[string]int
	// declared are the rules of each shape with their weights as preferences, zero for those that it
	// requires; memberships memoises in what else it takes part,
	// invalid is why a shape's rules cannot be read.
	declared    map[*snapshot.Shape]map[int]int
	memberships map[*snapshot.Shape][]Membership
	invalid     map[*snapshot.Shape]error
	// anchored are the rules that select one value of one label, by that; loose are
	// the others.
	anchored map[[2]string][]int
	loose    []int
	// live are the rules that pending pods require, and those that pods which run have against
	// others.
	live map[int]bool
}

// Membership is a shape's part in a rule.
type Membership struct {
	Rule int
	topology.Part
	// Weight is how much the shape prefers the rule; zero if it requires it, or
	// does not own it.
	Weight int
}

// newPodTopology collects the rules that the pods own, and the anti-affinity of pods
// that run and of DaemonSets.
func (b *Batch) newPodTopology(classes []*snapshot.Class, shapes []*snapshot.Shape) *PodTopology {
	c := &PodTopology{
		byID: map[string]int{}, declared: map[*snapshot.Shape]map[int]int{}, memberships: map[*snapshot.Shape][]Membership{},
		invalid: map[*snapshot.Shape]error{}, anchored: map[[2]string][]int{}, live: map[int]bool{},
	}
	labels := namespaces(b.Snap, classes)
	for _, s := range shapes {
		c.own(s, labels, false)
		// Pods that wait for the volume of one claim are in one zone.
		for _, name := range b.Volumes.Together(s) {
			d := topology.OneZone(types.NamespacedName{Namespace: s.Namespace, Name: name})
			c.declare(&d, s)
		}
	}
	for _, s := range guards(b.Snap) {
		c.own(s, labels, true)
	}
	if len(c.Counts) == 0 && len(c.invalid) == 0 {
		return nil
	}
	return c
}

// guards are the shapes of pods that run, or will with each node, and may keep others
// away, by what they are.
func guards(s *snapshot.Snapshot) []*snapshot.Shape {
	var classes []*snapshot.Class
	add := func(c *snapshot.Class) {
		if c.Affinity != nil && c.Affinity.PodAntiAffinity != nil {
			classes = append(classes, c)
		}
	}
	for _, n := range s.Nodes {
		for _, p := range n.Pods {
			if !p.Terminal() {
				add(p.Class)
			}
		}
	}
	for _, d := range s.DaemonSets {
		add(d.Pod.Class)
	}
	return shapesOf(classes)
}

// namespaces are the cluster's, and those of pods in manifests that do not mention them, with
// the label that an API server gives to each.
func namespaces(snap *snapshot.Snapshot, classes []*snapshot.Class) map[string]map[string]string {
	out := make(map[string]map[string]string, len(snap.Namespaces))
	for _, c := range classes {
		out[c.Namespace] = nil
	}
	for _, n := range snap.Nodes {
		for _, p := range n.Pods {
			out[p.Class.Namespace] = nil
		}
	}
	maps.Copy(out, snap.Namespaces)
	for name, labels := range out {
		if _, ok := labels[corev1.LabelMetadataName]; !ok {
			out[name] = map[string]string{corev1.LabelMetadataName: name}
			maps.Copy(out[name], labels)
		}
	}
	return out
}

// own adds the rules of a shape; of pods that run, only those that keep others
// away.
func (c *PodTopology) own(s *snapshot.Shape, namespaces map[string]map[string]string, running bool) {
	if _, ok := c.declared[s]; ok || len(s.Spread) == 0 && s.Affinity == nil {
		return
	}
	demands, err := topology.DemandsOf(s, namespaces)
	if err != nil && !running {
		c.invalid[s] = err
	}
	c.declared[s] = nil
	for i := range demands {
		d := &demands[i]
		if running && (d.Kind != topology.AntiAffinity || d.Weight > 0) {
			continue
		}
		c.declare(d, s)
	}
}

// declare enters a rule of a shape, once.
func (c *PodTopology) declare(d *topology.Demand, s *snapshot.Shape) {
	id := c.ruleOf(d, s)
	if _, ok := c.declared[s][id]; ok {
		return
	}
	if c.declared[s] == nil {
		c.declared[s] = map[int]int{}
	}
	c.declared[s][id] = d.Weight
	c.live[id] = c.live[id] || d.Weight == 0
}

// ruleOf is the number of a rule, which is new if no shape stated it before.
func (c *PodTopology) ruleOf(d *topology.Demand, s *snapshot.Shape) int {
	id, ok := c.byID[d.ID]
	if ok {
		return id
	}
	id = len(c.Counts)
	c.byID[d.ID] = id
	c.Counts = append(c.Counts, topology.NewDomainCounts(&d.Rule))
	c.Owners = append(c.Owners, NodeOf(s.Terms, s.Tolerations))
	if key, value, ok := d.Anchor(); ok {
		at := [2]string{key, value}
		c.anchored[at] = append(c.anchored[at], id)
	} else {
		c.loose = append(c.loose, id)
	}
	return id
}

// MembershipsOf are all the rules in which a shape takes part, in order.
func (c *PodTopology) MembershipsOf(s *snapshot.Shape) []Membership {
	if c == nil {
		return nil
	}
	if known, ok := c.memberships[s]; ok {
		return known
	}
	candidates := slices.Clone(c.loose)
	for key, value := range s.Labels {
		candidates = append(candidates, c.anchored[[2]string{key, value}]...)
	}
	candidates = slices.AppendSeq(candidates, maps.Keys(c.declared[s]))
	slices.Sort(candidates)
	var out []Membership
	for _, i := range slices.Compact(candidates) {
		weight, declared := c.declared[s][i]
		r := Membership{Rule: i, Part: topology.Part{Declares: declared && weight == 0, Selected: c.Counts[i].Selects(s)}, Weight: weight}
		if r.Declares || r.Selected || r.Weight > 0 {
			out = append(out, r)
		}
	}
	c.memberships[s] = out
	return out
}

// addPodTopology is the rule of topology: what it demands is looked at for all pods
// together, once it is known who there is.
func addPodTopology(b *Batch, from *snapshot.Shape, to *Shape) {
	if b.PodTopology == nil {
		return
	}
	if err := b.PodTopology.invalid[from]; err != nil {
		to.refuse(plan.Reason{Code: plan.ConstraintsInvalid, Have: err.Error()})
		return
	}
	to.Memberships = b.PodTopology.MembershipsOf(from)
}

// topologyTokens is where the tokens of anti-affinity begin, above those of host ports and disks.
const topologyTokens = 1 << 20

// Tokens are what a pod with the memberships brings onto its node, and what it cannot be
// with there: the owner of an anti-affinity with those that it selects.
func (c *PodTopology) Tokens(memberships []Membership) (present, conflicts []pack.Token) {
	for _, r := range memberships {
		if l := c.Counts[r.Rule]; !l.PerNode() || l.Kind != topology.AntiAffinity {
			continue
		}
		owner, selected := pack.Token(topologyTokens+2*r.Rule), pack.Token(topologyTokens+2*r.Rule+1)
		if r.Declares {
			present, conflicts = append(present, owner), append(conflicts, selected)
		}
		if r.Selected {
			present, conflicts = append(present, selected), append(conflicts, owner)
		}
	}
	slices.Sort(present)
	slices.Sort(conflicts)
	return present, conflicts
}

// caps are the spreads over nodes in which a shape takes part. A node that does
// not exist yet has none of the pods, so no node where one of the owners is may
// have more than maxSkew.
func (c *PodTopology) caps(sh *Shape) []pack.Cap {
	var out []pack.Cap
	for _, r := range sh.Memberships {
		if l := c.Counts[r.Rule]; l.PerNode() && l.Kind == topology.Spread {
			out = append(out, pack.Cap{Group: int32(r.Rule), Each: int32(sh.Playing(r.Rule)), Max: int32(l.MaxSkew), Declares: r.Declares})
		}
	}
	return out
}

// Unsatisfiable is the reason of a pod that a rule leaves no domain.
func Unsatisfiable(l *topology.DomainCounts) plan.Reason {
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: l.String(), Have: l.Standing()}
}
