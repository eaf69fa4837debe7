package disruption

import (
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// launches bounds how many commands get their replacements in one decision; the
// others wait for the next.
const launches = 16

// resume takes every command under way one step further, or calls it off.
func (d *decider) resume() {
	var standing []*group
	for _, g := range d.groups {
		if d.holds(g) {
			d.charge(g.nodes)
			standing = append(standing, g)
		}
	}
	var gone []*snapshot.Node
	for _, g := range standing {
		d.advance(g)
		gone = append(gone, g.nodes...)
	}
	d.house(standing, gone)
	d.reserve(standing)
	budget := launches
	for _, g := range standing {
		if g.step == Launch {
			d.replace(g, &budget)
		}
	}
	for _, g := range standing {
		if g.step == Await {
			d.giveUp(g)
		}
		if g.step != "" {
			d.command(g, nil)
		}
	}
}

// replacementTimeout is how long after its marking a command waits for machines that are not
// ready, or twice as long as machines of its pool usually take if that is more.
const replacementTimeout = 10 * time.Minute

// giveUp calls a command off that has waited for long enough. One with a deadline is not
// lost by that: its machine goes then in any case.
func (d *decider) giveUp(g *group) {
	since := g.nodes[0].Claim.Conditions[snapshot.DisruptionReason].Since
	pool := d.s.Pool(g.nodes[0].Claim.Pool)
	most := max(replacementTimeout, 2*d.startUp(pool))
	if g.committed || d.s.Now.Before(since.Add(most)) {
		return
	}
	r := plan.Reason{Code: plan.ReplacementFailed, Have: fmt.Sprint(d.paused[pool.Name].failures + 1), Want: most.String()}
	for _, name := range g.Replacements {
		if c := g.comers[name]; c != nil && !c.Claim.Is(snapshot.Initialized) {
			r.Objects = append(r.Objects, plan.ObjectRef{Kind: "NodeClaim", Name: name})
		}
	}
	d.fail(g)
	d.callOff(g, g.nodes[0], r)
}

// fail counts a command whose replacements were launched and are of no use: its pools rest.
func (d *decider) fail(g *group) {
	for _, n := range g.nodes {
		d.failed[n.Name] = true
	}
}

// holds reports whether nothing has come between a command and its end, and calls
// it off otherwise.
func (d *decider) holds(g *group) bool {
	for _, n := range g.nodes {
		if reason, blocked := d.ask(running(g.Cause), n); blocked {
			d.callOff(g, n, reason)
			return false
		}
		if a := d.allowanceFor(n, g.Cause); !d.affords(a, g.nodes) && !g.committed {
			d.callOff(g, n, a.Reason(d.spent[n.Claim.Pool]))
			return false
		}
	}
	if reason, no := d.crowded(g.Cause, g.nodes); no && !g.committed {
		d.callOff(g, g.nodes[0], reason)
		return false
	}
	if len(g.nodes) < len(g.Claims) && !g.committed && !g.Replaced {
		// The marking was cut off, or somebody took a machine out: what was planned for
		// all of them does not hold for the rest.
		d.callOff(g, g.nodes[0], plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(g.nodes[0]), Have: "not all of its machines are marked"})
		return false
	}
	return true
}

// callOff turns a command into rollbacks. The machine that is the reason gets the
// reason, the others refer to it.
func (d *decider) callOff(g *group, because *snapshot.Node, reason plan.Reason) {
	g.step = ""
	for _, n := range g.nodes {
		v := d.verdict(n)
		v.Cause, v.Saving, v.Reason = g.Cause, g.Saving/float64(len(g.nodes)), reason
		if n != because && len(g.nodes) > 1 {
			v.Reason = plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(because), Have: reason.Message()}
		}
		for _, name := range sortedKeys(g.comers) {
			if c := g.comers[name]; unused(c) && !c.Deleting() {
				d.discard[n.Name] = append(d.discard[n.Name], c)
			}
		}
	}
}

// advance reads off the marks and the replacements what is next.
func (d *decider) advance(g *group) {
	g.step = Remove
	for _, n := range g.nodes {
		step, until := marked(g.Progress, n, d.s.Now, d.settle)
		if step == Mark || step == Settle && g.step != Mark {
			g.step = step
		}
		if until.After(g.until) {
			g.until = until
		}
	}
	switch {
	case g.step != Remove:
	case !g.Replaced && g.Cause != Empty:
		g.step = Launch
	case g.Replaced:
		d.await(g)
	}
}

// await looks after the replacements.
func (d *decider) await(g *group) {
	cost := 0.0
	for _, name := range g.Replacements {
		c := g.comers[name]
		if c == nil || c.Deleting() {
			d.fail(g)
			pool := g.nodes[0].Claim.Pool
			d.callOff(g, g.nodes[0], plan.Reason{
				Code: plan.ReplacementFailed, Objects: []plan.ObjectRef{{Kind: "NodeClaim", Name: name}}, Have: fmt.Sprint(d.paused[pool].failures + 1),
			})
			return
		}
		if !c.Claim.Is(snapshot.Initialized) {
			g.step = Await
		}
		if c.Claim.ProviderID != "" {
			cost += Price(d.s.Pool(c.Claim.Pool), c)
		}
	}
	if g.Spend > 0 && cost > g.Spend+1e-9 {
		d.callOff(g, g.nodes[0], plan.Reason{
			Code: plan.SavingTooSmall, Objects: plan.MachineRefs(g.nodes[0]), Want: dollars(g.Saving), Have: dollars(g.Spend + g.Saving - cost),
		})
	}
}

// replace decides what a command's replacements are, now that its machines take
// no more pods.
func (d *decider) replace(g *group, budget *int) {
	if *budget == 0 {
		g.step = Settle
		return
	}
	if d.static(g.nodes[0]) {
		d.replaceStatic(g)
		return
	}
	*budget--
	answer := d.world.Ask(g.nodes)
	for _, n := range g.nodes {
		if pod := answer.Refused()[n.Name]; pod != nil {
			d.callOff(g, n, plan.Reason{Code: plan.PodFitsNowhere, Objects: append([]plan.ObjectRef{plan.PodRef(pod.Pod)}, plan.MachineRefs(n)...)})
			return
		}
		d.countOn(n, answer)
	}
	cost := 0.0
	for i := range answer.NewNodes {
		cost += answer.NewNodes[i].Choice.Offering.Price
	}
	switch {
	case len(answer.NewNodes) == 0 && unready(answer)[g.nodes[0].Name]:
		g.step = Await
	case len(answer.NewNodes) == 0:
		g.step = Remove
	case g.Cause == Underutilized && g.Spend == 0:
		pod := answer.NewNodes[0].Pods[0]
		d.callOff(g, g.nodes[0], plan.Reason{Code: plan.PodFitsNowhere, Objects: append([]plan.ObjectRef{plan.PodRef(pod.Pod)}, plan.MachineRefs(g.nodes[0])...)})
		return
	case g.Cause == Underutilized && cost > g.Spend+1e-9:
		d.callOff(g, g.nodes[0], plan.Reason{
			Code: plan.SavingTooSmall, Objects: plan.MachineRefs(g.nodes[0]), Want: dollars(g.Saving), Have: dollars(g.Spend + g.Saving - cost),
		})
		return
	}
	if reason, over := d.room.TakeAll(answer.NewNodes); over {
		d.callOff(g, g.nodes[0], reason)
		return
	}
	d.world.Go(g.nodes, answer)
	if len(answer.NewNodes) > 0 {
		d.command(g, answer.NewNodes)
		g.step = "" // listed
	}
}

// unused reports whether a replacement is of no use to any pod yet.
func unused(n *snapshot.Node) bool {
	return n.Object == nil || !n.Claim.Is(snapshot.Initialized) && movers(n) == 0
}
