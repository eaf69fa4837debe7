package disruption

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

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

// Requested reads a claim's request; ok is false if it has none that can be read.
func Requested(c *snapshot.Claim) (r Request, ok bool) {
	if err := json.Unmarshal([]byte(c.Annotations[RequestAnnotation]), &r); err != nil || !r.Cause.Urgent() {
		return Request{}, false
	}
	return r, true
}

// requested is a machine's request, the zero value if it has none.
func requested(n *snapshot.Node) Request {
	if n.Claim == nil {
		return Request{}
	}
	r, _ := Requested(n.Claim)
	return r
}

// urgency are the rules of urgent causes.
var urgency = []rule{ours, notDeleted, initialized, pooled, heeded}

// heeded is about requests that are not as urgent as others.
func heeded(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	if !requested(n).Budgeted {
		return plan.Reason{}, false
	}
	return notFrozen(e, n)
}

func stillRequested(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	return plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(n), Have: "its replacement is not requested any more"}, requested(n).Cause == ""
}

// urgent says whether a machine with a request may go.
func (e *examiner) urgent(r Request, n *snapshot.Node) (Cause, plan.Reason, bool) {
	reason, blocked := e.ask(urgency, n)
	if !blocked && r.Budgeted {
		reason, blocked = inWindow(e, n)
	}
	return r.Cause, reason, blocked
}

// byDeadline puts the machines with requests first, of those the earliest deadline.
func byDeadline(a, b *snapshot.Node) int {
	r, q := requested(a), requested(b)
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
