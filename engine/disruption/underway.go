package disruption

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// launches bounds how many commands get their replacements in one decision; the
// others wait for the next.
const launches = 16

// underway takes the commands further that have begun.
type underway struct {
	*decider
	// discard are replacements that are of no use, by machine whose command is off;
	// failed are machines whose replacement did not come up.
	discard map[string][]*snapshot.Node
	failed  map[string]bool
}

// resume takes every command under way one step further, or calls it off.
func (u *underway) resume() {
	var standing []*group
	for _, g := range u.groups {
		if u.holds(g) {
			u.account.charge(g.nodes)
			standing = append(standing, g)
		}
	}
	var gone []*snapshot.Node
	for _, g := range standing {
		u.advance(g)
		gone = append(gone, g.nodes...)
	}
	u.placeMovers(standing, gone)
	u.reserve(standing)
	budget := launches
	for _, g := range standing {
		if g.step == Launch {
			u.replace(g, &budget)
		}
	}
	for _, g := range standing {
		if g.step == Await {
			u.giveUp(g)
		}
		if g.step != "" {
			u.command(g, nil)
		}
	}
}

// replacementTimeout is how long after its marking a command waits for machines that are not
// ready, or twice as long as machines of its pool usually take if that is more.
const replacementTimeout = 10 * time.Minute

// giveUp calls a command off that has waited for long enough. One with a deadline is not
// lost by that: its machine goes then in any case.
func (u *underway) giveUp(g *group) {
	since := g.nodes[0].Claim.Conditions[snapshot.DisruptionReason].Since
	pool := u.s.Pool(g.nodes[0].Claim.Pool)
	most := max(replacementTimeout, 2*u.startUp(pool))
	if g.committed || u.s.Now.Before(since.Add(most)) {
		return
	}
	r := plan.Reason{Code: plan.ReplacementFailed, Have: fmt.Sprint(u.paused[pool.Name].failures + 1), Want: most.String()}
	for _, name := range g.Replacements {
		if c := g.comers[name]; c != nil && !c.Claim.Is(snapshot.Initialized) {
			r.Objects = append(r.Objects, plan.ObjectRef{Kind: "NodeClaim", Name: name})
		}
	}
	u.fail(g)
	u.callOff(g, g.nodes[0], r)
}

// fail counts a command whose replacements were launched and are of no use: its pools rest.
func (u *underway) fail(g *group) {
	for _, n := range g.nodes {
		u.failed[n.Name] = true
	}
}

// holds reports whether nothing has come between a command and its end, and calls
// it off otherwise.
func (u *underway) holds(g *group) bool {
	for _, n := range g.nodes {
		if reason, blocked := u.ask(running(g.Cause), n); blocked {
			u.callOff(g, n, reason)
			return false
		}
	}
	if reason, no := u.account.refuses(g.Cause, g.nodes, true); no && !g.committed {
		u.callOff(g, g.nodes[0], reason)
		return false
	}
	if len(g.nodes) < len(g.Claims) && !g.committed && !g.Replaced {
		// The marking was cut off, or a machine was taken out: what was planned for
		// all of them does not hold for the rest.
		u.callOff(g, g.nodes[0], plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(g.nodes[0]), Have: "not all of its machines are marked"})
		return false
	}
	return true
}

// callOff turns a command into rollbacks. The machine that is the reason gets the
// reason, the others refer to it.
func (u *underway) callOff(g *group, because *snapshot.Node, reason plan.Reason) {
	g.step = ""
	for _, n := range g.nodes {
		v := u.verdict(n)
		v.Cause, v.Saving, v.Reason = g.Cause, g.Saving/float64(len(g.nodes)), reason
		if n != because && len(g.nodes) > 1 {
			v.Reason = plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(because), Have: reason.Message()}
		}
		for _, name := range slices.Sorted(maps.Keys(g.comers)) {
			if c := g.comers[name]; unused(c) && !c.Deleting() {
				u.discard[n.Name] = append(u.discard[n.Name], c)
			}
		}
	}
}

// advance reads off the marks and the replacements what is next.
func (u *underway) advance(g *group) {
	g.step = Remove
	for _, n := range g.nodes {
		step, until := marked(g.Progress, n, u.s.Now)
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
		u.await(g)
	}
}

// await looks after the replacements.
func (u *underway) await(g *group) {
	cost := 0.0
	for _, name := range g.Replacements {
		c := g.comers[name]
		if c == nil || c.Deleting() {
			u.fail(g)
			pool := g.nodes[0].Claim.Pool
			u.callOff(g, g.nodes[0], plan.Reason{
				Code: plan.ReplacementFailed, Objects: []plan.ObjectRef{{Kind: "NodeClaim", Name: name}}, Have: fmt.Sprint(u.paused[pool].failures + 1),
			})
			return
		}
		if !c.Claim.Is(snapshot.Initialized) {
			g.step = Await
		}
		if c.Claim.ProviderID != "" {
			cost += Price(u.s.Pool(c.Claim.Pool), c)
		}
	}
	u.overspends(g, cost)
}

// overspends calls a command off whose replacements cost more than they may.
func (u *underway) overspends(g *group, cost float64) bool {
	over := g.Spend > 0 && cost > g.Spend+1e-9
	if over {
		u.callOff(g, g.nodes[0], plan.Reason{
			Code: plan.SavingTooSmall, Objects: plan.MachineRefs(g.nodes[0]), Want: dollars(g.Saving), Have: dollars(g.Spend + g.Saving - cost),
		})
	}
	return over
}

// replace decides what a command's replacements are, now that its machines take
// no more pods.
func (u *underway) replace(g *group, budget *int) {
	if *budget == 0 {
		g.step = Settle
		return
	}
	if u.static(g.nodes[0]) {
		u.replaceStatic(g)
		return
	}
	*budget--
	answer := u.world.Ask(g.nodes)
	for _, n := range g.nodes {
		if pod := answer.Refused()[n.Name]; pod != nil {
			u.callOff(g, n, fitsNowhere(pod, n))
			return
		}
		u.countOn(n, answer)
	}
	switch {
	case len(answer.NewNodes) == 0 && unready(answer)[g.nodes[0].Name]:
		g.step = Await
	case len(answer.NewNodes) == 0:
		g.step = Remove
	case g.Cause == Underutilized && g.Spend == 0:
		pod := answer.NewNodes[0].Pods[0]
		u.callOff(g, g.nodes[0], fitsNowhere(pod, g.nodes[0]))
		return
	case u.overspends(g, answer.PricePerHour()):
		return
	}
	if reason, over := u.room.TakeAll(answer.NewNodes); over {
		u.callOff(g, g.nodes[0], reason)
		return
	}
	u.world.Go(g.nodes, answer)
	if len(answer.NewNodes) > 0 {
		u.command(g, answer.NewNodes)
		g.step = "" // listed
	}
}

// unused reports whether a replacement is of no use to any pod yet.
func unused(n *snapshot.Node) bool {
	return n.Object == nil || !n.Claim.Is(snapshot.Initialized) && movers(n) == 0
}

// rollBack lists the marked machines that are in no command.
func (u *underway) rollBack() {
	for _, v := range u.Verdicts {
		if v.Disrupting || !Marked(v.Node) {
			continue
		}
		r := Rollback{Node: v.Node, Reason: v.Reason, Discard: u.discard[v.Node.Name], Failed: u.failed[v.Node.Name]}
		if r.Failed {
			r.Failures = u.paused[v.Node.Claim.Pool].failures + 1
		}
		u.Rollbacks = append(u.Rollbacks, r)
	}
}
