package demand

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Preference is one thing that the pods of a shape would rather have: a node with
// certain labels, a node without soft taints, or other pods near or far.
type Preference struct {
	// Weight is how much, 1 to 100. Preferences that state no weight, which are
	// ScheduleAnyway and PreferNoSchedule, have 100.
	Weight int
	// Rule is the inter-pod rule, -1 if the preference is about the node.
	Rule int
	// Node is what the node should satisfy, by its labels or its PreferNoSchedule taints;
	// nil if the preference is about other pods.
	Node *Node
}

// aboutNode is the rule of preferences about nodes.
const aboutNode = -1

// Describe reads like "topology.kubernetes.io/zone In [a] (weight 10)".
func (b *Batch) Describe(p *Preference) string {
	switch {
	case p.Rule == aboutNode && len(p.Node.Soft) > 0:
		return "nodes without PreferNoSchedule taints"
	case p.Rule == aboutNode:
		return fmt.Sprintf("%s (weight %d)", p.Node.Terms[0], p.Weight)
	case b.PodTopology.Counts[p.Rule].Kind == topology.Spread:
		return b.PodTopology.Counts[p.Rule].String()
	}
	return fmt.Sprintf("%s (weight %d)", b.PodTopology.Counts[p.Rule], p.Weight)
}

// addPreferences collects what the pods would rather have. Of equal weights,
// taints come first, then labels, then other pods: the order of the scheduler's own
// weights.
func addPreferences(b *Batch, from *snapshot.Shape, to *Shape) {
	if b.softlyTainted(from.Tolerations) {
		to.Preferences = append(to.Preferences, Preference{topology.FullWeight, aboutNode, &Node{Terms: []requirement.Set{nil}, Soft: [][]corev1.Toleration{from.Tolerations}}})
	}
	if a := from.Affinity; a != nil && a.NodeAffinity != nil {
		terms := a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		for i := range terms {
			// A term without expressions prefers nothing, and one that cannot be read
			// cannot be followed.
			want, err := snapshot.TermOf(&terms[i].Preference)
			if err == nil && len(want) > 0 {
				to.Preferences = append(to.Preferences, Preference{int(terms[i].Weight), aboutNode, &Node{Terms: []requirement.Set{want}}})
			}
		}
	}
	for _, r := range to.Memberships {
		if r.Weight > 0 {
			to.Preferences = append(to.Preferences, Preference{Weight: r.Weight, Rule: r.Rule})
		}
	}
	slices.SortStableFunc(to.Preferences, func(x, y Preference) int { return y.Weight - x.Weight })
}

// softlyTainted reports whether some pool or node has a PreferNoSchedule taint
// that the tolerations do not cover.
func (b *Batch) softlyTainted(tolerations []corev1.Toleration) bool {
	if b.soft == nil {
		b.soft = [][]corev1.Taint{}
		add := func(list []corev1.Taint) {
			if slices.ContainsFunc(list, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }) {
				b.soft = append(b.soft, list)
			}
		}
		for _, p := range b.Snap.Pools {
			add(p.Taints)
		}
		for _, n := range b.Snap.Nodes {
			add(n.Taints())
		}
	}
	return slices.ContainsFunc(b.soft, func(list []corev1.Taint) bool { return taints.Disliked(list, tolerations) })
}

// ShapeOf is the shape of a pod of the batch, with all that it prefers.
func (b *Batch) ShapeOf(p *snapshot.Pod) *Shape { return b.made[p.Class.Shape] }

// Selected reports whether a rule is about the shape's pods.
func (sh *Shape) Selected(rule int) bool {
	return slices.ContainsFunc(sh.Memberships, func(r Membership) bool { return r.Rule == rule && r.Selected })
}
