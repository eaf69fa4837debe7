package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// consolidation looks for machines that are not needed or cost too much.
type consolidation struct{ *decider }

// begin begins the commands that are worth it.
func (c *consolidation) begin() {
	list := c.candidates[Underutilized]
	if len(list) == 0 {
		return
	}
	c.world.Close(c.restless)
	in := consolidate.Input{
		World: c.world, Remaining: map[string]int{}, Terms: map[string]consolidate.Terms{},
		Closed: map[string]plan.Reason{}, Book: c.book, Work: max(work-c.world.Asked, work/4), Random: c.random,
	}
	for _, p := range c.s.Pools {
		in.Terms[p.Name] = c.terms(p)
		if reason, closed := c.closed(p); closed {
			in.Closed[p.Name] = reason
		}
	}
	for _, x := range list {
		if reason, stays := notReplacing(c.examiner, x.node); stays {
			c.verdict(x.node).Reason = reason
			continue
		}
		m, uses := c.world.Machine(x.node.Name), c.account.uses(Underutilized, x.node)
		for _, u := range uses {
			in.Remaining[u.Scope] = c.account.left(u.Scope)
		}
		in.Candidates = append(in.Candidates, consolidate.Candidate{Node: m, Price: x.price, Cost: m.MoveCost(), Uses: uses})
	}
	c.carry(consolidate.Find(in))
}

// carry makes commands of moves and verdicts of the rest.
func (c *consolidation) carry(found consolidate.Result) {
	for _, m := range found.Moves {
		nodes := make([]*snapshot.Node, len(m.Nodes))
		for i, n := range m.Nodes {
			nodes[i] = c.s.Nodes[c.at[n.Name]]
		}
		p := Progress{Cause: Underutilized, Saving: m.Saving}
		if len(m.Launch) > 0 {
			p.Spend = priceOf(c.s, nodes) - m.Saving + m.Spare
		}
		c.decider.begin(Command{Progress: p, Nodes: nodes, Launch: m.Launch, Placements: m.Placements})
	}
	for name, stay := range found.Stays {
		v := &c.Verdicts[c.at[name]]
		if v.Cause != Underutilized {
			continue // what holds its replacement back has been said
		}
		v.Saving, v.Reason = stay.Saving, stay.Reason
		if stay.Reason.Code == plan.BudgetExhausted {
			v.Reason = c.account.exhausted(v.Node.Claim.Pool, stay.Scope)
		}
	}
	for _, x := range c.candidates[Underutilized] {
		if v := c.verdict(x.node); v.Reason.Code == "" {
			v.Reason = plan.Reason{Code: plan.NothingCheaper, Objects: plan.MachineRefs(x.node), Have: dollars(x.price), Want: dollars(x.price)}
		}
	}
}

// book books what is launched in place of machines, or says why that cannot be now.
func (c *consolidation) book(gone []*snapshot.Node, launch []plan.NewNode) (plan.Reason, bool) {
	for _, n := range gone {
		if reason, resting := c.resting(n.Claim.Pool); resting {
			return reason, true
		}
	}
	return c.world.Ledger.TakeAll(launch)
}

// closed says why a pool launches no machines like its own now: its replacements have just
// failed, or its limits have no room for machines as large as it has.
func (c *consolidation) closed(p *snapshot.Pool) (plan.Reason, bool) {
	if reason, resting := c.resting(p.Name); resting {
		return reason, true
	}
	most := corev1.ResourceList{}
	for _, m := range machinesOf(c.s, p) {
		for name, q := range limit.Size(p, m.Node) {
			if have := most[name]; q.Cmp(have) > 0 {
				most[name] = q
			}
		}
	}
	return c.world.Ledger.Over(p.Name, most)
}

// restless reports whether a machine is no target of a consolidation: pods have
// come or gone lately, it is not initialized, or others count on it already.
func (c *consolidation) restless(n *snapshot.Node) bool {
	_, at := Consolidatable(c.s, n)
	return !at.IsZero() || !n.Initialized() || c.replacing[n.Name] != nil
}

// terms are what the consolidation of a pool's machines must be worth.
func (c *consolidation) terms(p *snapshot.Pool) consolidate.Terms {
	policy := p.Policy.Disruption.Defaulted()
	machines := machinesOf(c.s, p)
	t := consolidate.Terms{
		Saving: policy.MinSaving, SpotSaving: policy.MinSpotSaving, SpotTypes: policy.MinSpotTypes,
		Payback: policy.PaybackTime, PodCost: policy.PodMoveCost, StartUp: c.startUp(p),
		Balanced: p.Disruption.Policy == Balanced, Churn: c.churn(p, machines),
	}
	for _, m := range machines {
		if !m.Deleting() {
			t.Price += m.Price
			t.Machines++
			t.Cost += m.MoveCost()
		}
	}
	return t
}

// startUp is how long the machines of a pool took from their claims to Initialized, the
// median of those that are there.
func (d *decider) startUp(p *snapshot.Pool) time.Duration {
	var took []time.Duration
	for _, n := range d.s.Nodes {
		if n.Pool() == p.Name && n.Claim.Is(snapshot.Initialized) {
			took = append(took, n.Claim.Conditions[snapshot.Initialized].Since.Sub(n.Claim.Created))
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}
