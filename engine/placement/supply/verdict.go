package supply

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/plan"
)

// RuleOf is the rule of company that stands in a group's way: the first that it
// owns, or owned before it was bound to a domain, else one of others'.
func (s *Supply) RuleOf(g *demand.Group) plan.Reason {
	roles := slices.Clone(g.Shape.Roles)
	if g.Origin != nil {
		roles = append(roles, g.Origin.Shape.Roles...)
	}
	slices.SortStableFunc(roles, func(x, y demand.Role) int { return -compareBool(x.Owns, y.Owns) })
	if len(roles) > 0 {
		return demand.Unsatisfiable(s.Company.Ledgers[roles[0].Rule])
	}
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: "what the pod needs beside the others", Have: "they leave no room"}
}
