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
	in := consolidate.Input{
		World: c.world, Terms: map[string]consolidate.Terms{}, Begin: c.move,
		Refuses: func(gone []*snapshot.Node) (plan.Reason, bool) {
			return c.account.refuses(Underutilized, c.seen(gone), false)
		},
		Work: max(work-c.world.Asked, work/4), Random: c.random,
	}
	for _, p := range c.s.Pools {
		in.Terms[p.Name] = c.terms(p)
	}
	c.keepRoom(in.Terms)
	c.world.Close(c.restless)
	for _, x := range list {
		v := c.verdict(x.Node)
		if reason, stays := notReplacing(c.examiner, x.Node); stays {
			v.Reason = reason
			continue
		}
		if v.Reason.Code == "" { // it stands if the machine takes pods of others
			v.Reason = plan.Reason{Code: plan.NothingCheaper, Objects: plan.MachineRefs(x.Node), Have: plan.PerHour(x.Price), Want: plan.PerHour(x.Price)}
		}
		m := c.world.Machine(x.Node.Name)
		in.Candidates = append(in.Candidates, consolidate.Candidate{Node: m, Price: x.Price, Cost: m.MoveCost()})
	}
	for name, stay := range consolidate.Find(in) {
		// If the cause is another, what holds its replacement back has been said.
		if v := &c.Verdicts[c.at[name]]; v.Cause == Underutilized {
			v.Saving, v.Reason = stay.Saving, stay.Reason
		}
	}
}

// move begins the command of a move, unless what it launches cannot be launched now.
func (c *consolidation) move(m consolidate.Move) (plan.Reason, bool) {
	nodes, p := c.seen(m.Nodes), Progress{Cause: Underutilized, Saving: m.Saving}
	if len(m.Launch) > 0 {
		for _, n := range nodes {
			if reason, resting := c.resting(n.Claim.Pool); resting {
				return reason, true
			}
		}
		if reason, over := c.world.Ledger.TakeAll(m.Launch); over {
			return reason, true
		}
		p.Spend = priceOf(c.s, nodes) - m.Saving + m.Spare
	}
	c.decider.begin(Command{Progress: p, Nodes: nodes, Launch: m.Launch, Placements: m.Placements})
	return plan.Reason{}, false
}

// seen are machines of the world as the snapshot has them.
func (c *consolidation) seen(list []*snapshot.Node) []*snapshot.Node {
	out := make([]*snapshot.Node, len(list))
	for i, n := range list {
		out[i] = c.s.Nodes[c.at[n.Name]]
	}
	return out
}

// restless reports whether a machine is no target of a consolidation: pods have
// come or gone lately, it is not initialized, or others count on it already.
func (c *consolidation) restless(n *snapshot.Node) bool {
	_, at := Consolidatable(c.s, n)
	return !at.IsZero() || !n.Initialized() || c.replacing[n.Name] != nil
}

// terms are what the consolidation of a pool's machines must be worth. The pool launches no
// machines like its own if its replacements have just failed, or its limits have no room for
// machines as large as it has.
func (c *consolidation) terms(p *snapshot.Pool) consolidate.Terms {
	machines := machinesOf(c.s, p)
	t := consolidate.Terms{
		DisruptionPolicy: p.Policy.Disruption.Defaulted(), StartUp: c.startUp(p), Balanced: p.Disruption.Policy == Balanced,
		Churn: c.churn(p, machines),
	}
	most, resting := corev1.ResourceList{}, false
	for _, m := range machines {
		for name, q := range limit.Size(p, m.Node) {
			if have := most[name]; q.Cmp(have) > 0 {
				most[name] = q
			}
		}
		if !m.Deleting() {
			t.Price += m.Price
			t.Machines++
			t.Cost += m.MoveCost()
		}
	}
	if t.Closed, resting = c.resting(p.Name); !resting {
		t.Closed, _ = c.world.Ledger.Over(p.Name, most)
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
