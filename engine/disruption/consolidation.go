package disruption

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// beginConsolidating looks for machines that are not needed or cost too much.
func (d *decider) beginConsolidating() {
	list := d.candidates[Underutilized]
	if len(list) == 0 {
		return
	}
	d.world.Close(d.restless)
	in := consolidate.Input{
		World: d.world, Remaining: map[string]int{}, Terms: map[string]consolidate.Terms{},
		Launches: map[string]bool{}, Work: max(d.opts.Work-d.world.Asked, 1), Turn: d.opts.turnAt(d.s.Now),
	}
	for _, p := range d.s.Pools {
		a := d.allowance(p.Name, Underutilized)
		in.Remaining[consolidate.PoolScope(p.Name)] = max(0, a.Remaining()-d.spent[p.Name])
		in.Terms[p.Name] = d.terms(p)
		in.Launches[p.Name] = d.launches(p)
	}
	for _, c := range list {
		if m := d.world.Machine(c.node.Name); m != nil {
			if from := d.counted[c.node.Name]; from != nil {
				d.verdict(c.node).Reason = plan.Reason{Code: plan.CountedOn, Objects: plan.MachineRefs(from)}
				continue
			}
			uses := append(d.uses(Underutilized, c.node), consolidate.Use{Scope: consolidate.PoolScope(m.Pool()), Amount: 1})
			for _, u := range uses[:len(uses)-1] {
				in.Remaining[u.Scope] = d.bounds[u.Scope].left(d)
			}
			in.Candidates = append(in.Candidates, consolidate.Candidate{Node: m, Price: c.price, Cost: m.MoveCost(), Uses: uses})
		}
	}
	d.carry(consolidate.Find(in))
}

// carry makes commands of moves and verdicts of the rest.
func (d *decider) carry(found consolidate.Result) {
	for _, m := range found.Moves {
		nodes := make([]*snapshot.Node, len(m.Nodes))
		for i, n := range m.Nodes {
			nodes[i] = d.s.Nodes[d.at[n.Name]]
		}
		if reason, no := d.unready(m); no {
			for _, n := range nodes {
				v := d.verdict(n)
				v.Reason, v.Saving = reason, m.Saving/float64(len(nodes))
			}
			continue
		}
		p := newProgress(Underutilized, nodes, d.s.Now)
		p.Saving = m.Saving
		if len(m.Launch) > 0 {
			p.Spend = priceOf(d.s, nodes) - m.Saving + m.Spare
		}
		d.begin(p, nodes, m.Launch)
		d.Commands[len(d.Commands)-1].Placements = m.Placements
	}
	for name, stay := range found.Stays {
		v := &d.Verdicts[d.at[name]]
		v.Saving, v.Reason = stay.Saving, stay.Reason
		if stay.Reason.Code == plan.BudgetExhausted {
			v.Reason = d.exhausted(v.Node.Claim.Pool, stay.Scope)
		}
	}
	for _, c := range d.candidates[Underutilized] {
		if v := d.verdict(c.node); v.Reason.Code == "" {
			v.Reason = plan.Reason{Code: plan.NothingCheaper, Objects: plan.MachineRefs(c.node), Have: dollars(c.price), Want: dollars(c.price)}
		}
	}
}

// unready says why a replacement cannot be launched now.
func (d *decider) unready(m consolidate.Move) (plan.Reason, bool) {
	if len(m.Launch) == 0 {
		return plan.Reason{}, false
	}
	for _, n := range m.Nodes {
		if reason, resting := d.resting(n.Claim.Pool); resting {
			return reason, true
		}
	}
	return d.room.TakeAll(m.Launch)
}

// restless reports whether a machine is no target of a consolidation: pods have
// come or gone lately, it is not initialized, or others count on it already.
func (d *decider) restless(n *snapshot.Node) bool {
	if n.Claim == nil {
		return false
	}
	if !n.Initialized() || !n.Claim.Is(snapshot.Initialized) || d.replacing[n.Name] != nil {
		return true
	}
	p := d.s.Pool(n.Claim.Pool)
	if p == nil || p.Disruption.ConsolidateAfter == nil || p.Replicas != nil {
		return false
	}
	ok, _ := Consolidatable(d.s, n)
	return !ok
}

// terms are what the consolidation of a pool's machines must be worth.
func (d *decider) terms(p *snapshot.Pool) consolidate.Terms {
	policy := p.Policy.Disruption.Defaulted()
	t := consolidate.Terms{
		Saving: policy.MinSaving, SpotSaving: policy.MinSpotSaving, SpotTypes: policy.MinSpotTypes,
		Payback: policy.PaybackTime, PodCost: policy.PodMoveCost, StartUp: d.startUp(p),
		Balanced: p.Disruption.Policy == Balanced, Churn: d.churn(p),
	}
	for _, n := range d.s.Nodes {
		if n.Pool() == p.Name && !n.Deleting() {
			t.Price += Price(p, n)
			t.Machines++
			t.Cost += n.MoveCost()
		}
	}
	return t
}

// startUp is how long the machines of a pool took from their claims to Initialized, the
// median of those that are there.
func (d *decider) startUp(p *snapshot.Pool) time.Duration {
	var took []time.Duration
	for _, n := range d.s.Nodes {
		if n.Pool() == p.Name && n.Claim != nil && n.Claim.Is(snapshot.Initialized) {
			took = append(took, n.Claim.Conditions[snapshot.Initialized].Since.Sub(n.Claim.Created))
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}
