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
	// Pools are the NodePools whose nodes it is about, besides Object.
	Pools []string
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
	{"attach-limit-fixed", limitsThatAreFixed},
	{"budget-never-opens", budgetsThatNeverOpen},
	{"class-not-ready", classesThatAreNotReady},
	{"consolidated-between-jobs", consolidatedBetweenJobs},
	{"controller-never-moves", controllersThatNeverMove},
	{"data-on-node", dataOnNodes},
	{"driver-never-attaches", driversThatDoNotAttach},
	{"images-float", imagesThatFloat},
	{"maintenance-at-once", maintenanceAtOnce},
	{"metadata-open", openMetadata},
	{"min-values-unmet", minValuesUnmet},
	{"nowhere-to-run", nowhere},
	{"one-zone", inOneZone},
	{"operator-shut-out", operatorsThatAreShutOut},
	{"other-scheduler", otherSchedulers},
	{"pdb-allows-none", pdbsThatAllowNone},
	{"pdb-matches-nothing", pdbsThatMatchNothing},
	{"pdbs-overlap", pdbsThatOverlap},
	{"plugin-on-some-nodes", pluginsOnSomeNodes},
	{"pool-at-limit", poolsAtTheirLimit},
	{"pool-in-shadow", poolsInTheShadow},
	{"pool-not-ready", poolsThatAreNotReady},
	{"pool-out-of-reach", poolsOutOfReach},
	{"pool-without-class", poolsWithoutAClass},
	{"protected-for-ever", podsThatAreProtectedForEver},
	{"queue-deaf", queuesThatAreDeaf},
	{"queue-forgets", queuesThatForget},
	{"queue-open", queuesThatAreOpen},
	{"second-hand", secondHands},
	{"single-replica", single},
	{"startup-taint-missing", startupTaintsThatAreMissing},
	{"startup-taint-of-others", startupTaintsOfOthers},
	{"startup-taint-stays", startupTaintsThatStay},
	{"two-controllers", twoControllers},
	{"volume-in-any-zone", volumesInAnyZone},
	{"volume-of-one", ofOnePod},
	{"volume-out-of-reach", volumesOutOfReach},
	{"webhook-blocks", webhooksThatBlock},
	{"window-too-late", windowsThatOpenTooLate},
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

// SeriousByPool are the findings of severity Error that are about each NodePool, in their order,
// without those that its status says already.
func SeriousByPool(findings []Finding) map[string][]Finding {
	out := map[string][]Finding{}
	for _, f := range findings {
		pools := f.Pools
		if f.Object.Kind == "NodePool" {
			pools = append(slices.Clone(pools), f.Object.Name)
		}
		for _, pool := range pools {
			if f.Severity == Error && f.Check != "pool-not-ready" {
				out[pool] = append(out[pool], f)
			}
		}
	}
	return out
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
