package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/plan"
)

// Severity is how much a finding matters.
type Severity string

const (
	// Error: something will break, or wait for ever.
	Error Severity = "error"
	// Warning: something will be slower, more expensive or less safe than it looks.
	Warning Severity = "warning"
)

// Finding is one thing that is wrong.
type Finding struct {
	// Check is the stable name of the check, such as agent-leaves-early.
	Check    string
	Severity Severity
	// Object is what to change, and Field the path of the field in it.
	Object plan.ObjectRef
	Field  string
	// Message says what is wrong and what will happen, as a sentence without its end.
	Message string
	// Advice says what to do.
	Advice string
	// Patch does it, nil where more than this object has to change.
	Patch *Patch
	// Origin is what the object was generated from, such as "chart cilium"; empty if it was
	// written, or nothing is known of it.
	Origin string
	// Fix does it there, in place of the patch; nil if the object was written.
	Fix *Fix
}

// check is one kind of mistake.
type check struct {
	name string
	find func(*Inventory) []Finding
}

// checks are all of them, by name.
var checks = []check{
	{"agent-ends-early", agentsThatEndEarly},
	{"agent-leaves-early", agentsThatLeaveEarly},
	{"agent-shut-out", agentsThatAreShutOut},
	{"budget-never-opens", budgetsThatNeverOpen},
	{"controller-never-moves", controllersThatNeverMove},
	{"nowhere-to-run", nowhere},
	{"operator-shut-out", operatorsThatAreShutOut},
	{"pdb-allows-none", pdbsThatAllowNone},
	{"pdbs-overlap", pdbsThatOverlap},
	{"pool-at-limit", poolsAtTheirLimit},
	{"pool-not-ready", poolsThatAreNotReady},
	{"protected-for-ever", podsThatAreProtectedForEver},
	{"queue-deaf", queuesThatAreDeaf},
	{"queue-forgets", queuesThatForget},
	{"queue-open", queuesThatAreOpen},
	{"second-hand", secondHands},
	{"startup-taint-stays", startupTaintsThatStay},
	{"volume-in-any-zone", volumesInAnyZone},
	{"volume-out-of-reach", volumesOutOfReach},
}

// Checks are the names of all checks, in order.
func Checks() []string {
	out := make([]string, len(checks))
	for i, c := range checks {
		out[i] = c.name
	}
	return out
}

// OfObjects are the names of the checks of Kubernetes' objects, in order; the others are of what
// only a cloud's documents hold.
func OfObjects() []string {
	return slices.DeleteFunc(Checks(), func(name string) bool { return strings.HasPrefix(name, "queue-") })
}

// Examine runs every check. Errors come first, then the order is by check, object and field.
func Examine(in *Inventory) []Finding {
	var out []Finding
	for _, c := range checks {
		for _, f := range c.find(in) {
			f.Check = c.name
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Check, b.Check),
			cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	return out
}
