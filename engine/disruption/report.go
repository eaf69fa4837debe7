package disruption

import (
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Report adds to a plan what the decision is about machines of ours that exist in a
// snapshot: which would be disrupted now, and why the others stay.
func (d *Decision) Report(s *snapshot.Snapshot, p *plan.Plan) {
	for _, c := range d.Commands {
		out := plan.Disruption{Cause: string(c.Cause), Launch: c.Launch, Saving: c.Saving}
		if c.Saving == 0 && !c.Replaced {
			out.Saving = priceOf(s, c.Nodes) - plan.PriceOf(c.Launch)
		}
		for _, n := range c.Nodes {
			out.Nodes = append(out.Nodes, n.Name)
		}
		p.Disruptions = append(p.Disruptions, out)
	}
	for _, v := range d.Verdicts {
		if !v.Disrupting && v.Node.Claim != nil {
			p.Stays = append(p.Stays, plan.Stay{Node: v.Node.Name, Reason: v.Reason, Saving: v.Saving})
		}
	}
}
