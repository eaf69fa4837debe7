package placement

import (
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/plan"
)

// explain says for every pod that is left why no pool has a machine for it.
// Pods of one group have the same reasons.
func (w *world) explain(out *plan.Plan) {
	for _, g := range w.Groups {
		if len(g.Pods) == 0 {
			continue
		}
		reasons := w.reasons(g)
		for _, p := range g.Pods {
			out.Unplaced = append(out.Unplaced, plan.Unplaced{Pod: p, Reasons: reasons})
		}
		g.Vain, g.Pods = len(g.Pods), nil
	}
}

func (w *world) reasons(g *demand.Group) []plan.Reason {
	if len(g.Shape.Refused) > 0 {
		return g.Shape.Refused
	}
	if len(w.Market.Pools) == 0 {
		return []plan.Reason{{Code: plan.NoPools}}
	}
	out := w.Verdicts(g)
	if len(out) == 0 {
		out = append(out, w.RuleOf(g))
	}
	return out
}
