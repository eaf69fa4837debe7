package assign

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// bind makes a group of some of the pods that is bound to requirements, and takes
// no part any more in rules over their labels.
func (s *domains) bind(g *demand.Group, to requirement.Set, pods []*snapshot.Pod) *demand.Group {
	sh := g.Shape.Unbound()
	sh.Node = g.Shape.Require(to)
	sh.Memberships = slices.DeleteFunc(slices.Clone(sh.Memberships), func(x demand.Membership) bool {
		_, bound := to.Lookup(s.PodTopology.Counts[x.Rule].Key)
		return bound
	})
	return &demand.Group{Shape: s.Intern(sh), Need: g.Need, Pods: pods, Bundle: g.Bundle}
}

// refuse makes a group of some of the pods, which cannot go anywhere.
func (s *domains) refuse(g *demand.Group, pods []*snapshot.Pod, r plan.Reason) *demand.Group {
	return &demand.Group{Shape: s.Refuse(g.Shape, r), Need: g.Need, Pods: pods, Bundle: 1}
}
