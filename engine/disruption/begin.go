package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption/churnlog"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/static"
)

// beginEmpty lets empty machines go, the dearest first.
func (d *decider) beginEmpty() {
	list := d.candidates[Empty]
	slices.SortFunc(list, func(a, b churnlog.Machine) int {
		return cmp.Or(-cmp.Compare(a.Price, b.Price), cmp.Compare(a.Node.Name, b.Node.Name))
	})
	for _, c := range list {
		v, one := d.verdict(c.Node), []*snapshot.Node{c.Node}
		v.Saving = c.Price
		reason, stays := notReplacing(d.examiner, c.Node)
		if !stays {
			if reason, stays = d.account.refuses(Empty, one, false); stays {
				v.Cause = cmp.Or(d.offer(c, Empty), Empty)
			}
		}
		if stays {
			v.Reason = reason
			continue
		}
		d.begin(Command{Progress: Progress{Cause: Empty, Saving: c.Price}, Nodes: one})
		d.world.Remove(one)
	}
}

// offer makes a machine that cannot go for one cause now a candidate for the next, by whose
// budgets it may still go, and returns that; empty if there is none. They are in this order:
//
//	empty:     Empty, then Expired or Drifted
//	with pods: Expired or Drifted, then Underutilized
func (d *decider) offer(c churnlog.Machine, refused Cause) Cause {
	var next Cause
	_, occupied := vacant(d.examiner, c.Node)
	switch {
	case refused == Empty:
		next = d.renewed(c.Node)
	case occupied && !refused.Urgent():
		if _, blocked := d.ask(consolidating, c.Node); !blocked {
			next = Underutilized
		}
	}
	if next != "" {
		d.candidates[next] = append(d.candidates[next], c)
	}
	return next
}

// begin adds a command that has not begun yet.
func (d *decider) begin(c Command) {
	c.identify(c.Nodes, d.s.Now)
	c.Step = Mark
	d.account.charge(c.Nodes)
	d.list(c, time.Time{})
}

// list adds a command and gives its machines their verdicts.
func (d *decider) list(c Command, until time.Time) {
	c.Pool = c.Nodes[0].Claim.Pool
	d.Commands = append(d.Commands, c)
	for _, n := range c.Nodes {
		objects := plan.MachineRefs(n)
		for _, name := range c.Replacements {
			objects = append(objects, plan.ClaimRef(name))
		}
		*d.verdict(n) = Verdict{
			Node: n, Disrupting: true, Cause: c.Cause, Saving: c.Saving / float64(len(c.Nodes)),
			Reason: plan.Reason{
				Code: plan.Disrupting, Objects: objects, Want: string(c.Cause), Have: because(Requested(n.Claim), doing(c)),
				Since: n.Claim.Conditions[snapshot.DisruptionReason].Since, Until: until,
			},
		}
	}
}

// doing words what a command waits for; empty for nothing.
func doing(c Command) string {
	switch {
	case c.First != nil:
		return "goes before its replacement is launched, as " + c.First.Message()
	case c.Step == Launch:
		return fmt.Sprintf("launches %s first", plan.Count(len(c.Launch), "machine"))
	case c.Step == Await && len(c.Replacements) > 0:
		return "waits until " + c.Replacements[0] + " is initialized"
	case c.Step == Await:
		return "waits for a machine on its way"
	}
	return ""
}

// beginReplacing replaces machines whose replacement is requested, and those that
// have expired or drifted: vacant ones first, then those that have waited for
// longest. One that cannot be replaced now may still be consolidated. Many such machines
// could use up the work of every decision: half of it is for others, picked at random.
func (d *decider) beginReplacing() {
	var list []churnlog.Machine
	for _, cause := range append(UrgentCauses(), Expired, Drifted) {
		list = append(list, d.candidates[cause]...)
	}
	old := map[string]bool{}
	for _, c := range list {
		cause := d.verdict(c.Node).Cause
		old[c.Node.Name] = cause.Urgent() || d.account.allowance(c.Node.Claim.Pool, cause).Allowed > 0
	}
	d.world.Close(func(n *snapshot.Node) bool { return old[n.Name] })
	slices.SortFunc(list, func(a, b churnlog.Machine) int {
		return cmp.Or(
			byDeadline(a.Node, b.Node),
			cmp.Compare(a.Node.MoveCost(), 1)-cmp.Compare(b.Node.MoveCost(), 1),
			d.due(a.Node).Compare(d.due(b.Node)),
			cmp.Compare(a.Node.Name, b.Node.Name),
		)
	})
	inOrder := true
	for i := range list {
		if inOrder && d.world.Asked > work/2 && !d.verdict(list[i].Node).Cause.Urgent() {
			inOrder = false
			d.random.Shuffle(len(list)-i, func(a, b int) { list[i+a], list[i+b] = list[i+b], list[i+a] })
		}
		c := list[i]
		if reason, stays := d.beginOne(c.Node); stays {
			d.verdict(c.Node).Reason = reason
			d.offer(c, d.verdict(c.Node).Cause)
		}
	}
}

// due is since when a machine should be replaced, as far as that is known.
func (d *decider) due(n *snapshot.Node) time.Time {
	if r := Requested(n.Claim); r.Cause != "" {
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

// beginOne replaces one machine, or says why it cannot be replaced now.
func (d *decider) beginOne(n *snapshot.Node) (plan.Reason, bool) {
	cause, one := d.verdict(n).Cause, []*snapshot.Node{n}
	if reason, stays := d.expecting(n); stays {
		return reason, true
	}
	if reason, stays := d.account.refuses(cause, one, false); stays {
		return reason, true
	}
	if d.worked(n) {
		return plan.Reason{Code: plan.NotExamined, Objects: plan.MachineRefs(n)}, true
	}
	c := Command{Progress: Progress{Cause: cause}, Nodes: one}
	answer, _, none := d.replacement(&c)
	if none != nil {
		return *none, true
	}
	if c.First != nil && d.incomplete(n.Claim.Pool) {
		return *c.First, true
	}
	if reason, rests := d.resting(n.Claim.Pool); rests && len(answer.NewNodes) > 0 {
		return reason, true
	}
	if reason, over := d.world.Ledger.TakeAll(answer.NewNodes); over {
		return reason, true
	}
	d.world.Go(one, answer)
	d.countOn(n, answer)
	c.Launch = answer.NewNodes
	d.begin(c)
	return plan.Reason{}, false
}

// worked reports whether there has been enough work in this decision to leave the question
// what takes a machine's place to the next; for one of a static pool there is none.
func (d *decider) worked(n *snapshot.Node) bool { return d.world.Asked > work && !d.static(n) }

// static reports whether a machine's pool keeps a fixed number of machines.
func (d *decider) static(n *snapshot.Node) bool { return d.s.Pool(n.Claim.Pool).Replicas != nil }

// replacement is what takes the place of a command's machines. Where limits or a capacity
// reservation have room for that only once its machine is gone, and the cause lets it go first,
// the command says so. The reason says why there is none, and for which machine.
func (d *decider) replacement(c *Command) (whatif.Answer, *snapshot.Node, *plan.Reason) {
	answer, of, none := d.standIn(d.world, c.Nodes)
	if none == nil || !d.goesFirst(c.Cause) {
		return answer, of, none
	}
	freed := d.world.Freed(c.Nodes[0])
	if freed == nil {
		return answer, of, none
	}
	later, _, never := d.standIn(freed, c.Nodes)
	d.world.Asked = freed.Asked
	if _, rests := d.resting(c.Nodes[0].Claim.Pool); never != nil || rests {
		return answer, of, none
	}
	c.First, later.NewNodes = none, nil
	return later, nil, nil
}

// goesFirst reports whether a cause lets a machine go before its replacement is launched.
func (d *decider) goesFirst(c Cause) bool {
	return c == Expired || c == Drifted && d.terminateFirstDrift
}

// incomplete reports whether machines of a pool are to come, or have room to come once an instance has
// ended: budgets count none of these.
func (d *decider) incomplete(pool string) bool {
	return slices.ContainsFunc(d.missing, func(n plan.NewNode) bool { return n.Pool == pool }) ||
		slices.ContainsFunc(d.s.Nodes, func(n *snapshot.Node) bool {
			return n.Pool() == pool && n.Claim != nil && (n.Claim.Is(snapshot.InstanceTerminating) || !n.Initialized() && !n.Deleting())
		})
}

// standIn is what takes the place of machines in a world: room for their pods, or one more
// machine of a static pool. The reason says why there is none, and for which machine.
func (d *decider) standIn(w *whatif.World, nodes []*snapshot.Node) (whatif.Answer, *snapshot.Node, *plan.Reason) {
	if d.static(nodes[0]) {
		fresh, none := static.Template(d.s, w.Pool(nodes[0].Claim.Pool), w.Ledger)
		return whatif.Answer{Plan: &plan.Plan{NewNodes: []plan.NewNode{fresh}}}, nodes[0], none
	}
	answer := w.Ask(nodes)
	for _, n := range nodes {
		if pod := answer.Refused()[n.Name]; pod != nil {
			reason := d.unplaced(pod, n)
			return answer, n, &reason
		}
	}
	return answer, nil, nil
}

// unplaced is why a machine cannot be replaced, one of whose pods has no other place: its pool
// launches nothing, its limits have no room for another machine like it, or none would take
// the pod.
func (d *decider) unplaced(pod *snapshot.Pod, n *snapshot.Node) plan.Reason {
	r, pool := d.fitsNowhere(pod, n), d.s.Pool(n.Claim.Pool)
	if limited, over := d.world.Ledger.Over(pool.Name, limit.Size(pool, n)); over && r.Have == "" {
		return limited
	}
	return r
}

// expectingFor bounds for how long pods that are expected on a machine hold its replacement
// back: where some are expected all the time, it goes after that.
const expectingFor = 10 * time.Minute

// expecting keeps a machine that pods are about to be bound to from being replaced for a
// voluntary cause, until they are, or kube-scheduler has had the time.
func (d *decider) expecting(n *snapshot.Node) (plan.Reason, bool) {
	since := snapshot.Latest(d.due(n), n.Claim.Conditions[snapshot.Initialized].Since)
	if d.verdict(n).Cause.Urgent() || !d.s.Now.Before(since.Add(expectingFor)) {
		return plan.Reason{}, false
	}
	if reason, found := notNominated(d.examiner, n); found {
		return reason, true
	}
	return notReplacing(d.examiner, n)
}
