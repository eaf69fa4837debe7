package supply

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/plan"
)

// RuleOf is the inter-pod rule that stands in a group's way: the first that it
// declares, or declared before it was bound to a domain, else one of other pods.
func (s *Supply) RuleOf(g *demand.Group) plan.Reason {
	memberships := slices.Clone(g.Shape.Memberships)
	if g.Origin != nil {
		memberships = append(memberships, g.Origin.Shape.Memberships...)
	}
	slices.SortStableFunc(memberships, func(x, y demand.Membership) int { return -compareBool(x.Declares, y.Declares) })
	if len(memberships) > 0 {
		return demand.Unsatisfiable(s.PodTopology.Counts[memberships[0].Rule])
	}
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: "what the pod needs beside the others", Have: "they leave no room"}
}
