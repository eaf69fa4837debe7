package disruption

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Overdue is a machine that goes whatever holds.
type Overdue struct {
	Node  *snapshot.Node
	Cause Cause
	// Ends is until when its pods may end.
	Ends time.Time

	since time.Time
	why   string
}

// lastGrace is how long pods of a machine that is overdue have to end, if its
// claim does not say.
const lastGrace = 30 * time.Second

// overdue says whether a machine's last deadline has passed: that of its age, or of
// a request.
func (e *examiner) overdue(n *snapshot.Node) (Overdue, bool) {
	if n.Claim == nil || n.Deleting() || e.s.Pool(n.Claim.Pool) == nil {
		return Overdue{}, false
	}
	grace := lastGrace
	if g := n.Claim.TerminationGracePeriod; g != nil {
		grace = *g
	}
	o := Overdue{
		Node: n, Cause: Expired, Ends: e.s.Now.Add(grace),
		since: lastDeadline(e.s.Pool(n.Claim.Pool), n.Claim), why: "its last deadline has passed",
	}
	if r := requested(n); !r.Deadline.IsZero() && (o.since.IsZero() || r.Deadline.Before(o.since)) {
		o.Cause, o.since, o.why = r.Cause, r.Deadline, because(r, "there is no time for a replacement")
		if !r.Ends.IsZero() {
			o.Ends = r.Ends
		}
	}
	return o, !o.since.IsZero() && !e.s.Now.Before(o.since)
}

// enforce lists the machines that are overdue. They are in no command.
func (d *decider) enforce() {
	var going []*snapshot.Node
	for i, n := range d.s.Nodes {
		o, is := d.examiner.overdue(n)
		if !is {
			continue
		}
		d.overdue[n.Name] = true
		d.Overdue = append(d.Overdue, o)
		going = append(going, n)
		d.Verdicts[i] = Verdict{Node: n, Disrupting: true, Cause: o.Cause, Reason: plan.Reason{
			Code: plan.Disrupting, Objects: plan.MachineRefs(n), Want: string(o.Cause), Have: o.why, Since: o.since,
		}}
	}
	d.groups = slices.DeleteFunc(d.groups, func(g *group) bool {
		g.Nodes = slices.DeleteFunc(g.Nodes, func(n *snapshot.Node) bool { return d.overdue[n.Name] })
		return len(g.Nodes) == 0
	})
	d.world.Remove(going)
	d.account.charge(going)
}
