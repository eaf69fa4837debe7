package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/doctor/account"
	"github.com/millwright-dev/millwright/doctor/control"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/doctor/pool"
	"github.com/millwright-dev/millwright/doctor/protection"
	"github.com/millwright-dev/millwright/doctor/unknown"
	"github.com/millwright-dev/millwright/doctor/webhook"
)

// What checks answer with is in package finding.
type (
	// Finding is what is wrong with one object.
	Finding = finding.Finding
	// Severity is how bad it is.
	Severity = finding.Severity
	// Patch changes one object.
	Patch = finding.Patch
	// Step is one operation of a Patch.
	Step = finding.Step
	// Fix mends a finding where its object is made.
	Fix = finding.Fix
)

// Severities, as package finding has them.
const (
	Error   = finding.Error
	Warning = finding.Warning
)

// check is one kind of mistake.
type check struct {
	name string
	find func(*Inventory) []Finding
	// cloud says that it takes a cloud's documents.
	cloud bool
}

// checks are all of them, by name.
var checks = []check{
	{"agent-ends-early", agentsThatEndEarly, false},
	{"agent-leaves-early", agentsThatLeaveEarly, false},
	{"agent-shut-out", agentsThatAreShutOut, false},
	{"attach-limit-fixed", limitsThatAreFixed, false},
	{"budget-lapses", func(in *Inventory) []Finding { return pool.BudgetsThatLapse(in.Pools, in.windowed) }, false},
	{"budget-never-opens", func(in *Inventory) []Finding {
		return append(policiesThatNeverOpen(in), pool.BudgetsThatNeverOpen(in.Pools)...)
	}, false},
	{"class-not-ready", func(in *Inventory) []Finding { return account.ClassesThatAreNotReady(in.Classes) }, false},
	{"class-selects-nothing", func(in *Inventory) []Finding { return account.ClassesThatSelectNothing(&in.Account, in.Classes) }, true},
	{"clock-skewed", func(in *Inventory) []Finding { return control.ClocksThatDiffer(in.Nodes) }, false},
	{"consolidated-between-jobs", consolidatedBetweenJobs, false},
	{"controller-never-moves", controllersThatNeverMove, false},
	{"crd-left-behind", func(in *Inventory) []Finding { return control.DefinitionsLeftBehind(in.Served) }, false},
	{"data-on-node", dataOnNodes, false},
	{"devices-not-offered", devicesThatAreNotOffered, false},
	{"driver-never-attaches", driversThatDoNotAttach, false},
	{"expires-while-draining", func(in *Inventory) []Finding { return pool.ExpiringWhileDraining(in.Pools, in.longestGrace) }, false},
	{"field-unknown", func(in *Inventory) []Finding { return unknown.Fields(in.unknown) }, false},
	{"images-deprecated", func(in *Inventory) []Finding { return account.ImagesDeprecated(in.Classes) }, false},
	{"images-float", func(in *Inventory) []Finding { return account.ImagesThatFloat(in.Classes) }, false},
	{"label-of-others", func(in *Inventory) []Finding { return pool.LabelsOfOthers(in.Pools) }, false},
	{"lease-held", leasesHeldFromOutside, false},
	{"maintenance-at-once", maintenanceAtOnce, false},
	{"metadata-open", func(in *Inventory) []Finding { return account.OpenMetadata(in.Classes) }, false},
	{"metadata-unreachable", metadataOutOfReach, false},
	{"metrics-unreachable", func(in *Inventory) []Finding {
		return control.MetricsOutOfReach(in.controllers(), in.NetworkPolicies, in.APIs)
	}, false},
	{"min-values-unmet", minValuesUnmet, false},
	{"node-never-empty", nodesThatAreNeverEmpty, false},
	{"nowhere-to-run", nowhere, false},
	{"one-zone", func(in *Inventory) []Finding { return account.InOneZone(in.Classes) }, false},
	{"operator-shut-out", operatorsThatAreShutOut, false},
	{"other-scheduler", otherSchedulers, false},
	{"pdb-allows-none", pdbsThatAllowNone, false},
	{"pdb-matches-nothing", pdbsThatMatchNothing, false},
	{"pdbs-overlap", pdbsThatOverlap, false},
	{"permission-denied", func(in *Inventory) []Finding { return account.PermissionsThatAreDenied(&in.Account) }, true},
	{"plugin-on-some-nodes", pluginsOnSomeNodes, false},
	{"pool-at-limit", func(in *Inventory) []Finding { return pool.AtLimit(in.Pools) }, false},
	{"pool-in-shadow", func(in *Inventory) []Finding { return pool.InTheShadow(in.Pools) }, false},
	{"pool-not-ready", func(in *Inventory) []Finding { return pool.NotReady(in.Pools) }, false},
	{"pool-out-of-reach", poolsOutOfReach, false},
	{"pool-without-class", poolsWithoutAClass, false},
	{"protected-for-ever", podsThatAreProtectedForEver, false},
	{"protection-void", func(in *Inventory) []Finding { return protection.Void(in.launched()) }, false},
	{"queue-deaf", func(in *Inventory) []Finding { return account.QueuesThatAreDeaf(in.Queues) }, true},
	{"queue-forgets", func(in *Inventory) []Finding { return account.QueuesThatForget(in.Queues) }, true},
	{"queue-open", func(in *Inventory) []Finding { return account.QueuesThatAreOpen(in.Queues) }, true},
	{"queue-unset", queuesUnset, false},
	{"requests-queued", requestsQueued, false},
	{"reservation-unused", unusedReservations, true},
	{"role-unusable", func(in *Inventory) []Finding { return account.RolesThatAreUnusable(&in.Account, in.Classes) }, true},
	{"scheduler-differs", func(in *Inventory) []Finding { return control.SchedulersThatDiffer(in.schedulers, in.spreads()) }, false},
	{"second-hand", secondHands, false},
	{"security-groups-ambiguous", func(in *Inventory) []Finding { return account.AmbiguousGroups(&in.Account, in.Classes) }, true},
	{"single-replica", single, false},
	{"spot-role-missing", func(in *Inventory) []Finding { return account.SpotRoleMissing(&in.Account, in.Pools) }, true},
	{"startup-taint-missing", startupTaintsThatAreMissing, false},
	{"startup-taint-of-others", func(in *Inventory) []Finding { return pool.StartupTaintsOfOthers(in.Pools) }, false},
	{"startup-taint-stays", startupTaintsThatStay, false},
	{"subnet-nearly-full", func(in *Inventory) []Finding { return account.SubnetsNearlyFull(&in.Account, in.Classes) }, true},
	{"two-controllers", twoControllers, false},
	{"volume-in-any-zone", volumesInAnyZone, false},
	{"volume-of-one", ofOnePod, false},
	{"volume-out-of-reach", volumesOutOfReach, false},
	{"webhook-blocks", func(in *Inventory) []Finding { return webhook.ThatBlock(in.Webhooks) }, false},
	{"window-too-late", windowsThatOpenTooLate, false},
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
	var out []string
	for _, c := range checks {
		if !c.cloud {
			out = append(out, c.name)
		}
	}
	return out
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

func step(op, path string, value any) Step { return finding.Op(op, path, value) }

// Examine runs every check. Errors come first, then the order is by check, object and field.
func Examine(in *Inventory) []Finding {
	var out []Finding
	for _, c := range checks {
		for _, f := range c.find(in) {
			f.Check = c.name
			out = append(out, in.kept(f))
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Check, b.Check),
			cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	return out
}

// kept is a finding without a patch of what a controller would put back as it was.
func (in *Inventory) kept(f Finding) Finding {
	if f.Patch == nil || in.owners[f.Patch.Object] == "" {
		return f
	}
	f.Origin, f.Patch = in.owners[f.Patch.Object], nil
	f.Advice += fmt.Sprintf(", in %s, which a controller makes it from: a patch would be undone", f.Origin)
	return f
}
