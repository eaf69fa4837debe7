package disruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption/idle"
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
			v.Reason = plan.Reason{Code: plan.CountedOn, Objects: plan.MachineRefs(from)}
			continue
		}
		one := []*snapshot.Node{c.node}
		if reason, no := d.account.refuses(Empty, one, false); no {
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
	p.Needs = needs(launch)
	d.account.charge(nodes)
	d.list(Command{Progress: p, Nodes: nodes, Step: Mark, Launch: launch}, time.Time{})
}

// beginReplacing replaces machines whose replacement is requested, and those that
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
			byDeadline(a.node, b.node),
			cmp.Compare(a.node.MoveCost(), 1)-cmp.Compare(b.node.MoveCost(), 1),
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
	rest, resting := d.resting(n.Claim.Pool)
	refusal, refused := d.account.refuses(v.Cause, one, false)
	expected, holds := d.expecting(n)
	switch {
	case holds:
		v.Reason = expected
		return
	case refused:
		v.Reason = refusal
		return
	case resting:
		v.Reason = rest
		return
	case d.static(n):
		d.beginStatic(n)
		return
	case d.world.Asked > work:
		v.Reason = plan.Reason{Code: plan.NotExamined, Objects: plan.MachineRefs(n), Have: dollars(0)}
		return
	}
	answer := d.world.Ask(one)
	if pod := answer.Refused()[n.Name]; pod != nil {
		v.Reason = fitsNowhere(pod, n)
		return
	}
	if reason, over := d.room.TakeAll(answer.NewNodes); over {
		v.Reason = reason
		return
	}
	d.world.Go(one, answer)
	d.countOn(n, answer)
	d.begin(newProgress(v.Cause, one, d.s.Now), one, answer.NewNodes)
}

// expectingFor bounds for how long pods that are expected on a machine hold its replacement
// back: where some are expected all the time, it goes after that.
const expectingFor = 10 * time.Minute

// expecting keeps a machine that pods are about to be bound to from being replaced for a
// voluntary cause, until they are, or kube-scheduler has had the time.
func (d *decider) expecting(n *snapshot.Node) (plan.Reason, bool) {
	since := idle.Later(d.due(n), n.Claim.Conditions[snapshot.Initialized].Since)
	if d.verdict(n).Cause.Urgent() || !d.s.Now.Before(since.Add(expectingFor)) {
		return plan.Reason{}, false
	}
	if reason, found := notNominated(d.examiner, n); found {
		return reason, true
	}
	return notReplacing(d.examiner, n)
}
