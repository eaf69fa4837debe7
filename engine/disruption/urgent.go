package disruption

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Urgent causes.
const (
	// Unhealthy: the machine is broken (engine/repair).
	Unhealthy Cause = "Unhealthy"
	// Interrupted: the cloud will take the machine away (engine/interruption).
	Interrupted Cause = "Interrupted"
)

// UrgentCauses are those that others decide upon, by a [Request]: the
// machine goes as soon as its replacement is ready, whatever its pods say, and unless
// the request says otherwise, whatever budgets, windows and a freeze say.
func UrgentCauses() []Cause { return []Cause{Interrupted, Unhealthy} }

// Urgent reports whether a cause is one of UrgentCauses.
func (c Cause) Urgent() bool { return slices.Contains(UrgentCauses(), c) }

// RequestAnnotation is on a claim whose machine others want replaced: a Request in
// JSON. Taking it off calls the replacement off.
const RequestAnnotation = "millwright.dev/replace"

// Request asks that a machine be replaced, its replacement first.
type Request struct {
	Cause Cause `json:"cause"`
	// At is when it was asked for; earlier requests come first.
	At time.Time `json:"at"`
	// Why is a clause for the verdict, such as "Ready is False for 30m".
	Why string `json:"why,omitempty"`
	// Deadline is when the machine goes without its replacement, whatever budgets and
	// pods say; zero is never. Requests with the earliest come before all others.
	Deadline time.Time `json:"deadline,omitzero"`
	// Ends is until when the pods may end if it goes at the deadline; zero is for the
	// claim's terminationGracePeriod, or 30 seconds.
	Ends time.Time `json:"ends,omitzero"`
	// Budgeted is whether the freeze, the windows and the budgets of the pool hold the
	// request back, those budgets that hold expiry back: the ones without reasons.
	Budgeted bool `json:"budgeted,omitempty"`
}

// String is the request as an annotation has it.
func (r Request) String() string {
	text, _ := json.Marshal(r) // strings and times cannot fail
	return string(text)
}

// Requested reads a claim's request, the zero value if there is no claim or it has none that
// can be read.
func Requested(c *snapshot.Claim) (r Request) {
	if c == nil || json.Unmarshal([]byte(c.Annotations[RequestAnnotation]), &r) != nil || !r.Cause.Urgent() {
		return Request{}
	}
	return r
}

// urgency are the rules of urgent causes.
var urgency = []rule{ours, notDeleted, initialized, pooled, unless(pressing, notFrozen)}

// pressing reports whether a machine's request is held back neither by the freeze, nor by
// windows and budgets.
func pressing(n *snapshot.Node) bool { r := Requested(n.Claim); return r.Cause != "" && !r.Budgeted }

func stillRequested(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	return plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(n), Have: "its replacement is not requested any more"}, Requested(n.Claim).Cause == ""
}

// byDeadline puts the machines with requests first, of those the earliest deadline.
func byDeadline(a, b *snapshot.Node) int {
	r, q := Requested(a.Claim), Requested(b.Claim)
	return cmp.Or(r.rank()-q.rank(), r.Deadline.Compare(q.Deadline))
}

func (r Request) rank() int {
	switch {
	case !r.Deadline.IsZero():
		return 0
	case r.Cause.Urgent():
		return 1
	}
	return 2
}

// because adds to what a command waits for why it was requested.
func because(r Request, waits string) string {
	return strings.TrimPrefix(strings.TrimSuffix(r.Why+"; "+waits, "; "), "; ")
}

// Overdue is a machine that goes whatever holds.
type Overdue struct {
	Node  *snapshot.Node
	Cause Cause
	// Ends is until when its pods may end.
	Ends time.Time
}

// lastGrace is how long pods of a machine that is overdue have to end, if its
// claim does not say.
const lastGrace = 30 * time.Second

// overdue says whether a machine's last deadline has passed: that of its age, or of
// a request.
func (e *examiner) overdue(n *snapshot.Node) (o Overdue, why plan.Reason, is bool) {
	if n.Claim == nil || n.Deleting() || e.s.Pool(n.Claim.Pool) == nil {
		return o, why, false
	}
	o = Overdue{n, Expired, e.s.Now.Add(ptr.Deref(n.Claim.TerminationGracePeriod, lastGrace))}
	why = plan.Reason{Code: plan.Disrupting, Objects: plan.MachineRefs(n), Have: "its last deadline has passed"}
	if d := e.s.Pool(n.Claim.Pool).Policy.Disruption.ExpiryDeadline; d != nil && n.Claim.ExpireAfter != nil {
		why.Since = n.Claim.Created.Add(*n.Claim.ExpireAfter + *d)
	}
	if r := Requested(n.Claim); !r.Deadline.IsZero() && (why.Since.IsZero() || r.Deadline.Before(why.Since)) {
		o.Cause, why.Since, why.Have = r.Cause, r.Deadline, because(r, "there is no time for a replacement")
		if !r.Ends.IsZero() {
			o.Ends = r.Ends
		}
	}
	why.Want = string(o.Cause)
	return o, why, !why.Since.IsZero() && !e.s.Now.Before(why.Since)
}

// enforce lists the machines that are overdue. They are in no command.
func (d *decider) enforce() {
	var going []*snapshot.Node
	for i, n := range d.s.Nodes {
		if o, why, is := d.overdue(n); is {
			d.Overdue = append(d.Overdue, o)
			going = append(going, n)
			d.Verdicts[i] = Verdict{Node: n, Disrupting: true, Cause: o.Cause, Reason: why}
		}
	}
	d.groups = slices.DeleteFunc(d.groups, func(g *group) bool {
		g.Nodes = slices.DeleteFunc(g.Nodes, func(n *snapshot.Node) bool { return d.verdict(n).Disrupting })
		return len(g.Nodes) == 0
	})
	d.world.Remove(going)
	d.account.charge(going)
}
