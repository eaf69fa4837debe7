package disruption

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Unhealthy: the machine is broken (engine/repair).
const Unhealthy Cause = "Unhealthy"

// UrgentCauses are those that somebody else decides upon, by a [Request]: the
// machine goes whatever budgets, windows, a freeze and its pods say, as soon as its
// replacement is ready.
func UrgentCauses() []Cause { return []Cause{Unhealthy} }

// Urgent reports whether a cause is one of UrgentCauses.
func (c Cause) Urgent() bool { return slices.Contains(UrgentCauses(), c) }

// RequestAnnotation is on a claim that somebody wants to be replaced: a Request in
// JSON. Taking it off calls the replacement off.
const RequestAnnotation = "millwright.dev/replace"

// Request asks that a machine be replaced, its replacement first.
type Request struct {
	Cause Cause `json:"cause"`
	// At is when it was asked for; earlier requests come first.
	At time.Time `json:"at"`
}

// String is the request as an annotation has it.
func (r Request) String() string {
	text, _ := json.Marshal(r) // a string and a time cannot fail
	return string(text)
}

// Requested reads a claim's request; ok is false if it has none that can be read.
func Requested(c *snapshot.Claim) (r Request, ok bool) {
	if err := json.Unmarshal([]byte(c.Annotations[RequestAnnotation]), &r); err != nil || !r.Cause.Urgent() {
		return Request{}, false
	}
	return r, true
}

// requested is the cause of a machine's request, empty if it has none.
func requested(n *snapshot.Node) Cause {
	if n.Claim == nil {
		return ""
	}
	r, _ := Requested(n.Claim)
	return r.Cause
}

// urgency are the rules of urgent causes.
var urgency = []rule{ours, notDeleted, initialized, pooled}

func stillRequested(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	return plan.Reason{Code: plan.RolledBack, Objects: refs(n), Have: "nobody asks for its replacement any more"}, requested(n) == ""
}
