package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// underway takes the commands further that have begun.
type underway struct{ *decider }

// resume takes every command under way one step further, or calls it off.
func (u *underway) resume() {
	var standing []*group
	var gone []*snapshot.Node
	for _, g := range u.groups {
		if u.holds(g) {
			u.account.charge(g.Nodes)
			u.advance(g)
			standing, gone = append(standing, g), append(gone, g.Nodes...)
		}
	}
	u.world.Remove(gone)
	u.placeMovers(standing)
	for _, g := range standing {
		if g.Step == Launch {
			u.replace(g)
		}
	}
	for _, g := range standing {
		if g.Step == Await {
			u.giveUp(g)
		}
		if g.Step != "" {
			u.list(g.Command, g.until)
		}
	}
}

// replacementTimeout is how long after its marking a command waits for machines that are not
// ready, or twice as long as machines of its pool usually take if that is more.
const replacementTimeout = 10 * time.Minute

// giveUp calls a command off that has waited for long enough. One with a deadline is not
// lost by that: its machine goes then in any case.
func (u *underway) giveUp(g *group) {
	since := g.Nodes[0].Claim.Conditions[snapshot.DisruptionReason].Since
	pool := u.s.Pool(g.Nodes[0].Claim.Pool)
	most := max(replacementTimeout, 2*u.startUp(pool))
	if u.s.Now.Before(since.Add(most)) {
		return
	}
	r := plan.Reason{Code: plan.ReplacementFailed, Have: fmt.Sprint(u.paused[pool.Name].failures + 1), Want: most.String()}
	for _, name := range g.Replacements {
		if c := u.comer(name); c != nil && !c.Claim.Is(snapshot.Initialized) {
			r.Objects = append(r.Objects, plan.ClaimRef(name))
			waits, _ := initialized(u.examiner, c)
			r.Hint = cmp.Or(r.Hint, c.Claim.Conditions[waits.Want].Message, waits.Have)
		}
	}
	g.failed = true
	u.callOff(g, g.Nodes[0], r)
}

// holds reports whether nothing has come between a command and its end, and calls it off
// otherwise: as long as nothing is launched for it, the best for what is left is found by planning
// anew. After that, machines that stay are taken out of it.
func (u *underway) holds(g *group) bool {
	u.shrink(g, u.left(g))
	begun := g.committed || g.Replaced
	var going []*snapshot.Node
	for _, n := range g.Nodes {
		reason, stays := u.ask(running(g.Cause), n)
		if !stays && !g.committed {
			reason, stays = u.account.refuses(g.Cause, append(going, n), true)
		}
		switch {
		case !stays:
			going = append(going, n)
		case begun:
			u.takeOut(g, n, reason)
		default:
			u.callOff(g, n, reason)
			return false
		}
	}
	if len(g.Nodes) < len(g.Claims) && !begun {
		// The marking was cut off.
		u.callOff(g, g.Nodes[0], plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(g.Nodes[0]), Have: "not all of its machines are marked"})
		return false
	}
	return len(going) > 0
}

// left are machines of a command that stay where they are, though its others go on.
func (u *underway) left(g *group) []*snapshot.Node {
	var out []*snapshot.Node
	for _, name := range g.Claims {
		if n := u.comer(name); n != nil && !n.Deleting() && !slices.Contains(g.Nodes, n) {
			out = append(out, n)
		}
	}
	return out
}

// takeOut leaves a machine where it is, and the others of its command to be looked at once more
// without it.
func (u *underway) takeOut(g *group, n *snapshot.Node, reason plan.Reason) {
	if len(g.Nodes) == 1 {
		u.callOff(g, n, reason)
		return
	}
	g.Step = Settle
	u.rollBack(g, n, reason)
	g.Nodes = slices.DeleteFunc(slices.Clone(g.Nodes), func(o *snapshot.Node) bool { return o == n })
	u.shrink(g, []*snapshot.Node{n})
}

// shrink makes a command that of the machines that it has still, where others stay: these have
// to save the same share of their price as all were to.
func (u *underway) shrink(g *group, stay []*snapshot.Node) {
	going := priceOf(u.s, g.Nodes)
	if all := going + priceOf(u.s, stay); going > 0 && !g.committed {
		g.Spend *= going / all
		g.Saving *= going / all
	}
}

// callOff turns a command into rollbacks. The machine that is the reason gets the
// reason, the others refer to it.
func (u *underway) callOff(g *group, because *snapshot.Node, reason plan.Reason) {
	g.Step = ""
	for _, n := range g.Nodes {
		why := reason
		if n != because {
			why = plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(because), Have: reason.Message()}
		}
		r := u.rollBack(g, n, why)
		for _, c := range u.s.Nodes {
			if old := u.replacing[c.Name]; old != nil && progressOf(old).ID == g.ID && unused(c) && !c.Deleting() {
				r.Discard = append(r.Discard, c)
			}
		}
	}
}

// rollBack adds the rollback of one machine of a command.
func (u *underway) rollBack(g *group, n *snapshot.Node, reason plan.Reason) *Rollback {
	v := u.verdict(n)
	v.Cause, v.Saving, v.Reason = g.Cause, g.Saving/float64(len(g.Nodes)), reason
	r := Rollback{Node: n, Reason: reason}
	if g.failed {
		r.Failures, r.Template = u.paused[n.Claim.Pool].failures+1, u.s.Pool(n.Claim.Pool).Hash
	}
	u.Rollbacks = append(u.Rollbacks, r)
	return &u.Rollbacks[len(u.Rollbacks)-1]
}

// advance reads off the marks and the replacements what is next.
func (u *underway) advance(g *group) {
	g.Step = Remove
	for _, n := range g.Nodes {
		step, until := marked(g.Progress, n, u.s.Now)
		if step == Mark || step == Settle && g.Step != Mark {
			g.Step = step
		}
		if until.After(g.until) {
			g.until = until
		}
	}
	switch {
	case g.Step != Remove:
	case !g.Replaced && g.Cause != Empty:
		g.Step = Launch
	case g.Replaced:
		u.await(g)
	}
}

// await looks after the replacements.
func (u *underway) await(g *group) {
	cost := 0.0
	for _, name := range g.Replacements {
		c := u.comer(name)
		if c == nil || c.Deleting() {
			g.failed = true
			pool := g.Nodes[0].Claim.Pool
			u.callOff(g, g.Nodes[0], plan.Reason{
				Code: plan.ReplacementFailed, Objects: []plan.ObjectRef{plan.ClaimRef(name)}, Have: fmt.Sprint(u.paused[pool].failures + 1),
			})
			return
		}
		if !g.Cause.Urgent() && u.renewed(c) == Drifted {
			g.failed = true // its pods would move twice; a pool whose machines always drift must not launch one after the other
			u.callOff(g, g.Nodes[0], plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(c), Have: "the replacement has drifted itself"})
			return
		}
		if !c.Claim.Is(snapshot.Initialized) {
			g.Step = Await
		}
		if c.Claim.ProviderID != "" {
			cost += priceOf(u.s, []*snapshot.Node{c})
		}
	}
	u.overspends(g, cost)
}

// overspends calls a command off whose replacements cost more than they may.
func (u *underway) overspends(g *group, cost float64) bool {
	over := g.Spend > 0 && cost > g.Spend+1e-9
	if over {
		u.callOff(g, g.Nodes[0], plan.Reason{
			Code: plan.SavingTooSmall, Objects: plan.MachineRefs(g.Nodes[0]), Want: plan.PerHour(g.Saving), Have: plan.PerHour(g.Spend + g.Saving - cost),
		})
	}
	return over
}

// replace decides what a command's replacements are, now that its machines take
// no more pods. What is too much work for this decision waits for the next.
func (u *underway) replace(g *group) {
	if u.worked(g.Nodes[0]) {
		g.Step = Settle
		return
	}
	answer, of, none := u.replacement(&g.Command)
	if none != nil {
		u.callOff(g, of, *none)
		return
	}
	for _, n := range g.Nodes {
		u.countOn(n, answer)
	}
	switch {
	case len(answer.NewNodes) == 0 && unready(answer)[g.Nodes[0].Name]:
		g.Step = Await
	case len(answer.NewNodes) == 0:
		g.Step = Remove
	case g.Cause == Underutilized && g.Spend == 0:
		pod := answer.NewNodes[0].Pods[0]
		u.callOff(g, g.Nodes[0], u.fitsNowhere(pod, g.Nodes[0]))
		return
	case u.overspends(g, answer.PricePerHour()):
		return
	}
	if g.Spend > 0 {
		within(answer.NewNodes, g.Spend)
	}
	if reason, over := u.world.Ledger.TakeAll(answer.NewNodes); over {
		u.callOff(g, g.Nodes[0], reason)
		return
	}
	u.world.Go(g.Nodes, answer)
	g.Launch = answer.NewNodes
}

// within leaves new machines only alternatives that are bought in the same way as the choice
// and with which they cost at most so much together, in $/h, whichever they become. Those of
// a pool that demands a choice of types keep all: what comes of it is checked once it is there.
func within(list []plan.NewNode, spend float64) {
	spare := (spend - plan.PriceOf(list)) / float64(len(list))
	for i := range list {
		n := &list[i]
		if !n.Requirements.HasMinValues() {
			n.Alternatives = slices.DeleteFunc(slices.Clone(n.Alternatives), func(a catalog.Choice) bool {
				return a.Offering.CapacityType != n.Choice.Offering.CapacityType || a.Offering.Price > n.Choice.Offering.Price+spare
			})
		}
	}
}

// placeMovers finds a place for the pods of all commands but those whose replacements
// are to be launched now, and calls off those for which there is none. Of the limits it
// keeps room for the machines that commands will launch once they have settled.
func (u *underway) placeMovers(standing []*group) {
	var movers []*snapshot.Node
	for _, g := range standing {
		if g.Step != Launch && g.Step != "" && g.Cause != Empty {
			movers = append(movers, g.Nodes...)
		}
	}
	if len(movers) == 0 {
		return
	}
	answer := u.world.Ask(movers)
	u.world.Go(movers, answer)
	unplaced, unready, settling := answer.WithoutRoom(), unready(answer), map[string]bool{}
	for _, g := range standing {
		for _, n := range g.Nodes {
			u.countOn(n, answer)
			settling[n.Name] = (g.Step == Mark || g.Step == Settle) && !u.static(n)
			pod := unplaced[n.Name]
			switch {
			case g.Step != Remove || g.Cause == Empty || u.static(n):
			case pod != nil && g.Cause == Underutilized:
				g.failed = g.Replaced // launched for nothing: the same again would be launched the next time
				u.takeOut(g, n, u.fitsNowhere(pod, n))
			case pod != nil:
				if c := u.futile(g, answer); c != nil {
					g.failed = true
					u.callOff(g, n, plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(c), Have: fmt.Sprintf("it takes none of the pods (%s)", backoff.WhyUnused(c, pod))})
					continue
				}
				g.Step = Launch
			case unready[n.Name]:
				g.Step = Await
			}
		}
	}
	for i := range answer.NewNodes {
		n := &answer.NewNodes[i]
		if slices.ContainsFunc(n.Pods, func(p *snapshot.Pod) bool { return settling[answer.From(p)] }) {
			u.world.Ledger.Take(n)
		}
	}
	for _, g := range standing {
		if (g.Step == Mark || g.Step == Settle) && u.static(g.Nodes[0]) {
			if fresh, _, none := u.standIn(u.world, g.Nodes); none == nil {
				u.world.Ledger.TakeAll(fresh.NewNodes)
			}
		}
	}
}

// futile is a replacement that is ready and that no pod is on or would go to, nil if there is
// none: it is not what it was planned to be, and a further one would not be either.
func (u *underway) futile(g *group, a whatif.Answer) *snapshot.Node {
	for _, name := range g.Replacements {
		c := u.comer(name)
		if c != nil && c.Claim.Is(snapshot.Initialized) && Movers(c) == 0 &&
			!slices.ContainsFunc(a.Placements, func(p plan.Placement) bool { return p.Node.Name == c.Name }) {
			return c
		}
	}
	return nil
}

// comer is the replacement with a claim of that name, nil if there is none.
func (d *decider) comer(name string) *snapshot.Node {
	n := d.s.Node(name)
	if n == nil || n.Claim == nil {
		return nil
	}
	return n
}

// unready are the machines some of whose pods count on one that is not initialized.
func unready(a whatif.Answer) map[string]bool {
	out := map[string]bool{}
	for _, p := range a.Placements {
		if !p.Node.Initialized() {
			out[a.From(p.Pod)] = true
		}
	}
	return out
}

// countOn notes the machines that will take a machine's pods.
func (d *decider) countOn(from *snapshot.Node, a whatif.Answer) {
	for p := range a.Of(from) {
		if d.counted[p.Node.Name] == nil {
			d.counted[p.Node.Name] = from
		}
	}
}

// unused reports whether a replacement is of no use to any pod yet.
func unused(n *snapshot.Node) bool {
	return n.Object == nil || !n.Claim.Is(snapshot.Initialized) && Movers(n) == 0
}
