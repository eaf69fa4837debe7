package disruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// beginEmpty lets empty machines go, the dearest first.
func (d *decider) beginEmpty() {
	list := d.candidates[Empty]
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(-cmp.Compare(a.price, b.price), cmp.Compare(a.node.Name, b.node.Name))
	})
	for _, c := range list {
		v := d.verdict(c.node)
		v.Saving = c.price
		if from := d.counted[c.node.Name]; from != nil {
			v.Reason = plan.Reason{Code: plan.CountedOn, Objects: refs(from)}
			continue
		}
		one := []*snapshot.Node{c.node}
		if a := d.allowance(c.node.Claim.Pool, Empty); !d.affords(a, one) {
			v.Reason = a.reason(d.spent[c.node.Claim.Pool])
			continue
		}
		if reason, no := d.bounded(Empty, one); no {
			v.Reason = reason
			continue
		}
		p := newProgress(Empty, one, d.s.Now)
		p.Saving = c.price
		d.begin(p, one, nil)
		d.world.Remove(one)
	}
}

// begin adds a command that has not begun yet.
func (d *decider) begin(p Progress, nodes []*snapshot.Node, launch []plan.NewNode) {
	d.charge(nodes)
	d.list(Command{Progress: p, Nodes: nodes, Step: Mark, Launch: launch}, time.Time{})
}

// beginReplacing replaces machines that somebody has asked it for, and those that
// have expired or drifted: vacant ones first, then those that have waited for
// longest.
func (d *decider) beginReplacing() {
	var list []candidate
	for _, cause := range append(UrgentCauses(), Expired, Drifted) {
		list = append(list, d.candidates[cause]...)
	}
	if len(list) == 0 {
		return
	}
	old := map[string]bool{}
	for _, c := range list {
		old[c.node.Name] = true
	}
	d.world.Close(func(n *snapshot.Node) bool { return old[n.Name] || !n.Initialized() })
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(
			hasty(a.node, b.node),
			cmp.Compare(Cost(a.node), 1)-cmp.Compare(Cost(b.node), 1),
			d.due(a.node).Compare(d.due(b.node)),
			cmp.Compare(a.node.Name, b.node.Name),
		)
	})
	for _, c := range list {
		d.beginOne(c.node)
	}
}

// due is since when a machine should be replaced, as far as that is known.
func (d *decider) due(n *snapshot.Node) time.Time {
	if r, ok := Requested(n.Claim); ok {
		return r.At
	}
	if d.verdict(n).Cause == Expired {
		return Expires(n.Claim)
	}
	if c := n.Claim.Conditions[snapshot.Drifted]; c.Status == corev1.ConditionTrue {
		return c.Since
	}
	return d.s.Now
}

// beginOne replaces one machine if it can be replaced now.
func (d *decider) beginOne(n *snapshot.Node) {
	v := d.verdict(n)
	one := []*snapshot.Node{n}
	a := d.allowanceFor(n, v.Cause)
	rest, resting := d.resting(n.Claim.Pool)
	bound, bounded := d.bounded(v.Cause, one)
	switch {
	case !d.affords(a, one):
		v.Reason = a.reason(d.spent[n.Claim.Pool])
		return
	case bounded:
		v.Reason = bound
		return
	case resting:
		v.Reason = rest
		return
	case d.static(n):
		d.beginStatic(n)
		return
	case d.world.Asked > d.opts.Work:
		v.Reason = plan.Reason{Code: plan.NotExamined, Objects: refs(n), Have: dollars(0)}
		return
	}
	answer := d.world.Ask(one)
	if pod := answer.Refused()[n.Name]; pod != nil {
		v.Reason = plan.Reason{Code: plan.PodFitsNowhere, Objects: append([]plan.ObjectRef{podRef(pod.Pod)}, refs(n)...)}
		return
	}
	if reason, over := d.exceeded(answer.NewNodes); over {
		v.Reason = reason
		return
	}
	d.world.Go(one, answer)
	d.countOn(n, answer)
	d.begin(newProgress(v.Cause, one, d.s.Now), one, answer.NewNodes)
}

// exceeded reports whether new machines would exceed their pools' limits beside
// all that exist: until a machine is gone it counts.
func (d *decider) exceeded(list []plan.NewNode) (plan.Reason, bool) {
	for i := range list {
		p := d.s.Pool(list[i].Pool)
		for name, limit := range p.Limits {
			sum := d.used(p.Name, name)
			for j := range list {
				if list[j].Pool == p.Name {
					sum.Add(amount(list[j].Choice.Type.Capacity, name))
				}
			}
			if sum.Cmp(limit) > 0 {
				return plan.Reason{
					Code: plan.LimitHolds, Objects: poolRef(p), Want: limit.String(),
					Have: string(name) + " would be " + sum.String() + " of " + limit.String(),
				}, true
			}
		}
	}
	return plan.Reason{}, false
}

// used is what a pool's machines have of a resource that limits count.
func (d *decider) used(pool string, name corev1.ResourceName) resource.Quantity {
	var sum resource.Quantity
	for _, n := range d.s.Nodes {
		if n.Pool() == pool && !n.Deleting() {
			sum.Add(amount(n.Capacity(), name))
		}
	}
	return sum
}

// amount is one machine's part of a limit.
func amount(capacity corev1.ResourceList, name corev1.ResourceName) resource.Quantity {
	if name == "nodes" {
		return *resource.NewQuantity(1, resource.DecimalSI)
	}
	return capacity[name]
}

// beginConsolidating looks for machines that are not needed or cost too much.
func (d *decider) beginConsolidating() {
	list := d.candidates[Underutilized]
	if len(list) == 0 {
		return
	}
	d.world.Close(d.restless)
	in := consolidate.Input{
		World: d.world, Remaining: map[string]int{}, Totals: map[string]consolidate.Total{}, Minimum: map[string]consolidate.Minimum{},
		Launches: map[string]bool{}, Work: max(d.opts.Work-d.world.Asked, 1), Turn: d.opts.turnAt(d.s.Now),
	}
	for _, p := range d.s.Pools {
		a := d.allowance(p.Name, Underutilized)
		in.Remaining[consolidate.PoolScope(p.Name)] = max(0, a.Remaining()-d.spent[p.Name])
		in.Minimum[p.Name] = d.minimum(p)
		in.Totals[p.Name] = d.total(p)
		in.Launches[p.Name] = d.launches(p)
	}
	for _, c := range list {
		if m := d.world.Machine(c.node.Name); m != nil {
			if from := d.counted[c.node.Name]; from != nil {
				d.verdict(c.node).Reason = plan.Reason{Code: plan.CountedOn, Objects: refs(from)}
				continue
			}
			uses := append(d.uses(Underutilized, c.node), consolidate.Use{Scope: consolidate.PoolScope(m.Pool()), Amount: 1})
			for _, u := range uses[:len(uses)-1] {
				in.Remaining[u.Scope] = d.bounds[u.Scope].left(d)
			}
			in.Candidates = append(in.Candidates, consolidate.Candidate{Node: m, Price: c.price, Cost: Cost(m), Uses: uses})
		}
	}
	d.carry(consolidate.Find(in), in)
}

// launches reports whether a pool can launch machines now: its replacements have not
// just failed, and its limits leave room for machines as large as it has.
func (d *decider) launches(p *snapshot.Pool) bool {
	if _, resting := d.resting(p.Name); resting || p.NotReady != "" || p.Replicas != nil {
		return false
	}
	for name, limit := range p.Limits {
		used, most := d.used(p.Name, name), resource.Quantity{}
		for _, n := range d.s.Nodes {
			if one := amount(n.Capacity(), name); n.Pool() == p.Name && one.Cmp(most) > 0 {
				most = one
			}
		}
		used.Add(most)
		if used.Cmp(limit) > 0 {
			return false
		}
	}
	return true
}

// turn is how long the search begins at the same place, in seconds.
const turn = 10

// carry makes commands of moves and verdicts of the rest.
func (d *decider) carry(found consolidate.Result, in consolidate.Input) {
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
			before := priceOf(d.s, nodes)
			p.Spend = before * (1 - in.Minimum[nodes[0].Claim.Pool].Saving)
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
			v.Reason = plan.Reason{Code: plan.NothingCheaper, Objects: refs(c.node), Have: dollars(c.price), Want: dollars(c.price)}
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
		if reason, undone := d.undone(n, m); undone {
			return reason, true
		}
	}
	return d.exceeded(m.Launch)
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
	if ok, _ := Consolidatable(d.s, n); !ok {
		return true
	}
	_, resting := rested(d.examiner, n)
	return resting
}

// total is what a pool's machines cost, and what moving all their pods would.
func (d *decider) total(p *snapshot.Pool) consolidate.Total {
	t := consolidate.Total{Balanced: p.Disruption.Policy == Balanced}
	for _, n := range d.s.Nodes {
		if n.Pool() == p.Name && !n.Deleting() {
			t.Price += Price(p, n)
			t.Cost += Cost(n)
		}
	}
	return t
}
