package plan

import (
	"cmp"
	"fmt"
)

// Fix is what would have to change for the reason to end, as a sentence for those
// who ask why a pod waits or a machine stays; empty if nothing is wrong.
func (r Reason) Fix() string {
	if text := disruptionFix(r); text != "" {
		return text
	}
	if text := savingFix(r); text != "" {
		return text
	}
	return placementFix(r)
}

// disruptionFix is about who or what keeps a machine.
func disruptionFix(r Reason) string {
	switch r.Code {
	case DoNotDisrupt:
		return fmt.Sprintf("%s: remove the annotation karpenter.sh/do-not-disrupt, or let the pod end; with a terminationGracePeriod on the pool drift and expiry do not wait for it", r.first("the object"))
	case PDBBlocks:
		if len(r.rest()) > 1 {
			return fmt.Sprintf("let only one of %s select %s: the API evicts no pod that several guard", list(r.rest(), ""), r.first("the pod"))
		}
		return fmt.Sprintf("%s: raise maxUnavailable or add a replica, so that it allows one disruption", list(r.rest(), ""))
	case HasPods:
		return "consolidationPolicy: WhenEmptyOrUnderutilized lets machines go whose pods fit elsewhere"
	case ConsolidationOff:
		return r.first("the pool") + ": set spec.disruption.consolidateAfter to a duration"
	case ConsolidateAfter:
		return "wait until no pod has come or gone for consolidateAfter, or shorten it; NodePolicy disruption.ignoreJobs leaves short jobs out"
	case BudgetExhausted:
		return fmt.Sprintf("%s: wait until the budget opens, or raise nodes in %s; nodes that are not ready use it up", r.first("the pool"), r.budgets())
	case BudgetInvalid:
		return r.first("the pool") + ": correct " + r.budgets()
	case PolicyHolds:
		return "NodePolicy of " + r.first("the pool") + ": wait, or change the field of spec.disruption that is named"
	case Nominated:
		return "nothing: the nomination ends when the pod is bound or gone, and expires otherwise"
	case PoolMissing:
		return "create " + r.first("the pool") + " again, or delete the NodeClaim"
	case NotInitialized:
		return "the named condition has to become True; the gates say what it waits for"
	}
	return comingFix(r)
}

// comingFix is about machines that come, go or belong to others.
func comingFix(r Reason) string {
	switch r.Code {
	case Disrupting:
		return "nothing; to keep the machine, set the annotation karpenter.sh/do-not-disrupt: \"true\" on its Node before its claim is deleted"
	case BeingDeleted:
		return "see what its drain waits for: millwright why node/NAME"
	case NotOurs:
		return "nothing: the Node's owner has to remove it"
	case Standalone:
		return "delete the NodeClaim when it is not needed any more: kubectl delete nodeclaim NAME"
	case StaticPool:
		return r.first("the pool") + ": lower spec.replicas"
	case CountedOn, Replacement:
		return "nothing: it is considered again when the other node is gone"
	case RolledBack:
		return "resolve what holds " + r.first("the other machine") + " first: millwright why node/NAME"
	case NotExamined:
		return "nothing: it is examined soon"
	case PriceUnknown:
		return "give its instance type, zone and capacity type a price in the catalogue"
	}
	return ""
}

// budgets is where the budget of a reason is written.
func (r Reason) budgets() string { return cmp.Or(r.Field, "spec.disruption.budgets") }

// savingFix is about machines that could go if it paid.
func savingFix(r Reason) string {
	switch r.Code {
	case PodFitsNowhere:
		return r.first("the pod") + ": loosen its node selector, affinity or volume's zone, or allow the pool machines that hold it"
	case LimitHolds:
		return r.first("the pool") + ": raise spec.limits by one machine, so that the replacement can come first"
	case ReplacementFailed:
		return "see why new machines do not become ready: kubectl get nodeclaims, millwright why nodeclaim/NAME"
	case NothingCheaper:
		return "nothing: it is the cheapest for what runs there; more instance types or zones in the pool may help"
	case Starved:
		return fmt.Sprintf("set consolidateAfter of %s below %s, or ignoreJobs in NodePolicy spec.disruption if the pods are of Jobs", r.first("the pool"), r.Have)
	case SavingTooSmall:
		return hurdleFix(r)
	case NotAgreed:
		return r.first("the pod") + ": set the annotation karpenter.sh/do-not-disrupt: \"false\", or defaultDeny to false in NodePolicy spec.disruption"
	case WorkloadCoolsDown:
		return "wait, or shorten workloadCooldown in NodePolicy spec.disruption; a workload that scales all the time is never disrupted"
	case EvictionRateReached:
		return "wait, or raise evictionsPerHour in NodePolicy spec.disruption"
	}
	return ""
}

// hurdleFix is about a saving that is too small.
func hurdleFix(r Reason) string {
	switch r.Field {
	case "minSavingPercent":
		return "nothing, or lower minSavingPercent in NodePolicy spec.disruption"
	case "spotToSpot":
		return "allow the pool more instance types, or lower spotToSpot.minTypes in NodePolicy spec.disruption"
	case "paybackTime":
		return "nothing, or raise paybackTime or lower podMoveCost in NodePolicy spec.disruption"
	case "machines":
		return "nothing: several small machines would be hardly cheaper than what is there"
	case "loopFreeze":
		return "nothing: less is asked when fewer pods were evicted lately; loopFreeze in NodePolicy spec.disruption says for how long they count, 0s not at all"
	}
	return "nothing: what could be saved does not pay for moving the pods that are there"
}

// placementFix is about pods without a machine.
func placementFix(r Reason) string {
	switch r.Code {
	case NoPools:
		return "create a NodePool"
	case PoolNotReady:
		return r.first("the pool") + ": fix its node class until its condition Ready is True"
	case LaunchesRefused:
		return "permit what the API server refuses: grant the right, raise the quota, or change the admission policy or webhook that it names"
	case MachinesUnused:
		return "remove what keeps the pods off those machines: a taint from outside, a DaemonSet larger than its template, a rule of kube-scheduler"
	case TaintNotTolerated:
		return "add the toleration to the pod, or use a pool without the taint"
	case RequirementNotMet, ExcludedByPool, NoInstanceTypes:
		return "let the pool allow what is named, or ask for less in the pod"
	case InsufficientResources, VolumeLimitExceeded:
		return "request less, or allow the pool larger machines"
	case OfferingUnavailable:
		return "allow more zones, instance types or capacity types; it is tried again by itself"
	case LimitExceeded:
		return r.first("the pool") + ": raise spec.limits"
	case MinValuesNotMet:
		if r.Field == FieldMinTypes {
			return "lower " + FieldMinTypes + ", or allow the pool more instance types"
		}
		return r.first("the pool") + ": lower minValues or allow more values; or run with --min-values-policy BestEffort"
	case TopologyNotSatisfiable:
		return "loosen the pod's spread, affinity or anti-affinity, or allow the pool more zones"
	case SchedulerDisagrees:
		return "look at what only the scheduler knows: its configuration, plugins, storage capacity"
	case VolumeClaimMissing, VolumeClaimUnusable:
		return r.first("the claim") + " has to be there and usable"
	case StorageClassMissing:
		return r.second("the storage class") + " has to be there; or let " + r.first("the claim") + " name another"
	case PoolStatic:
		return "raise spec.replicas, or use a pool without it"
	case HostPortTaken:
		return "use another host port, or keep the DaemonSet off the pool"
	case ConstraintsInvalid:
		return "correct the named field of the pod"
	case ConstraintUnsupported:
		return "do without it, or run the pod on a node that Millwright does not launch"
	case PreferenceTooDear:
		return "nothing, or raise --preference-cost, or make the preference a requirement"
	case PreferenceNotMet:
		return "nothing, or make the preference a requirement"
	}
	return ignoredFix(r)
}

// ignoredFix is about pods that are not placement's business.
func ignoredFix(r Reason) string {
	switch r.Code {
	case SchedulingGated:
		return "the gate's owner has to remove it: " + r.Have
	case PodEnded, PodOfNode:
		return "nothing: it needs no machine"
	case PodOfDaemonSet:
		return "make room for it on its node, or give the DaemonSet a higher priority"
	case Preempting:
		return "nothing: kube-scheduler binds it when the pods that it evicts have gone"
	case OptedOut:
		return "let the pod accept nodes with the label karpenter.sh/nodepool"
	case AwaitingScheduler:
		return "nothing: kube-scheduler tries it in a moment; if it does not, check that it runs, and spec.schedulerName"
	}
	return ""
}
