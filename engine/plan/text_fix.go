package plan

import (
	"cmp"
	"fmt"
)

// Fix is what would have to change for the reason to end, as a sentence for those
// who ask why a pod waits or a machine stays; empty if nothing is wrong.
func (r Reason) Fix() string { return fixes.of(r) }

// fixes are what would have to change.
var fixes = words{
	DoNotDisrupt: func(r Reason) string {
		remove := fmt.Sprintf("%s: remove the annotation karpenter.sh/do-not-disrupt", r.first("the object"))
		if len(r.Objects) > 0 && r.Objects[0].Kind != "Pod" {
			return remove
		}
		return remove + ", or let the pod end; with a terminationGracePeriod on the pool drift and expiry do not wait for it"
	},
	PDBBlocks: func(r Reason) string {
		if len(r.rest()) > 1 {
			return fmt.Sprintf("let only one of %s select %s: the API evicts no pod that several guard", list(r.rest(), ""), r.first("the pod"))
		}
		return fmt.Sprintf("%s: raise maxUnavailable or add a replica, so that it allows one disruption", list(r.rest(), ""))
	},
	HasPods:               say("consolidationPolicy: WhenEmptyOrUnderutilized lets machines go whose pods fit elsewhere"),
	HasBuffers:            say("consolidationPolicy: WhenEmptyOrUnderutilized lets machines go whose chunks fit elsewhere; or %s: ask for fewer", first("the buffer")),
	ConsolidationOff:      say("%s: set spec.disruption.consolidateAfter to a duration", first("the pool")),
	ConsolidateAfter:      say("wait until no pod has come or gone for consolidateAfter, or shorten it; NodePolicy disruption.ignoreJobs leaves short jobs out"),
	BudgetExhausted:       say("%s: %s", first("the pool"), roomInBudget),
	BudgetInvalid:         say("%s: correct %s", first("the pool"), Reason.budgets),
	PolicyHolds:           say("%s: wait, or change the field of spec.disruption that is named", ruler),
	Nominated:             say("nothing: the nomination ends when the pod is bound or gone, and expires otherwise"),
	PoolMissing:           say("create %s again, or delete the NodeClaim", first("the pool")),
	InstanceShared:        say("drain and delete %s, or give it its own provider ID", first("the other Node")),
	NotInitialized:        say("the named condition has to become True; the gates say what it waits for"),
	Disrupting:            say("nothing; to keep the machine, set the annotation karpenter.sh/do-not-disrupt: \"true\" on its Node before its claim is deleted"),
	BeingDeleted:          say("see what its drain waits for: millwright why node/NAME"),
	NotOurs:               say("nothing: the Node's owner has to remove it"),
	Standalone:            say("delete the NodeClaim when it is not needed any more: kubectl delete nodeclaim NAME"),
	StaticPool:            say("%s: lower spec.replicas", first("the pool")),
	CountedOn:             say("nothing: it is considered again when the other node is gone"),
	Replacement:           say("nothing: it is considered again when the other node is gone"),
	RolledBack:            say("resolve what holds %s first: millwright why node/NAME", first("the other machine")),
	WatchBehind:           say("nothing once events of pods arrive again; if it lasts, see what is between Millwright and the API server, such as a proxy that holds watches open"),
	NotExamined:           say("nothing: it is examined soon"),
	PriceUnknown:          unlessClosed(say("give its instance type, zone and capacity type a price in the catalogue")),
	PodFitsNowhere:        unlessClosed(say("%s: loosen its node selector, affinity or volume's zone, or allow the pool machines that hold it", first("the pod"))),
	LimitHolds:            say("%s: raise spec.limits by one machine, so that the replacement can come first", first("the pool")),
	ReplacementFailed:     say("see why new machines do not become ready: kubectl get nodeclaims, millwright why nodeclaim/NAME"),
	NothingCheaper:        say("nothing: it is the cheapest for what runs there; more instance types or zones in the pool may help"),
	RoomKept:              say("nothing: it goes when fewer pods come; loopFreeze: 0s in NodePolicy spec.disruption keeps no room"),
	Starved:               say("set consolidateAfter of %s below %s, or ignoreJobs in NodePolicy spec.disruption if the pods are of Jobs", first("the pool"), have),
	SavingTooSmall:        hurdleFix,
	NotAgreed:             say("%s: set the annotation karpenter.sh/do-not-disrupt: \"false\", or defaultDeny to false in NodePolicy spec.disruption", first("the pod")),
	WorkloadCoolsDown:     say("wait, or shorten workloadCooldown in NodePolicy spec.disruption; a workload that scales all the time is never disrupted"),
	EvictionRateReached:   say("wait, or raise evictionsPerHour in NodePolicy spec.disruption"),
	NoPools:               say("create a NodePool"),
	PoolNotReady:          say("%s: fix its node class until its condition Ready is True, or its requirements", first("the pool")),
	LaunchesRefused:       say("permit what the API server refuses: grant the right, raise the quota, or change the admission policy or webhook that it names"),
	MachinesUnused:        say("remove what keeps the pods off those machines: a taint from outside, a DaemonSet larger than its template, a rule of kube-scheduler; or have the resource that they lack published there, or ask for types that have it"),
	TaintNotTolerated:     say("add the toleration to the pod, or use a pool without the taint"),
	RequirementNotMet:     labelFix,
	ExcludedByPool:        say("widen the requirements of the pool, or have the pod ask for what they allow"),
	NoInstanceTypes:       say("widen the requirements of the pool, or have the pod ask for what they allow"),
	InsufficientResources: say("request less, or allow the pool larger machines"),
	VolumeLimitExceeded:   say("request less, or allow the pool larger machines"),
	OfferingUnavailable: func(r Reason) string {
		const wider = "allow more zones, instance types or capacity types; it is tried again by itself"
		if r.Want != "" {
			return "provide what is lacking, or " + wider
		}
		return wider
	},
	LimitExceeded: say("%s: raise spec.limits", first("the pool")),
	MinValuesNotMet: func(r Reason) string {
		if r.Field == FieldMinTypes {
			return "lower " + FieldMinTypes + ", or allow the pool more instance types"
		}
		return r.first("the pool") + ": lower minValues or allow more values; or run with --min-values-policy BestEffort"
	},
	TopologyNotSatisfiable: say("loosen the pod's spread, affinity or anti-affinity, or allow the pool more zones"),
	SchedulerDisagrees:     say("look at what only the scheduler knows: its configuration, plugins, storage capacity"),
	VolumeClaimMissing:     say("%s has to be there and usable", first("the claim")),
	VolumeClaimUnusable:    say("%s has to be there and usable", first("the claim")),
	StorageClassMissing:    say("%s has to be there; or let %s name another", second("the storage class"), first("the claim")),
	PoolStatic:             say("raise spec.replicas, or use a pool without it"),
	HostPortTaken:          say("use another host port, or keep the DaemonSet off the pool"),
	ConstraintsInvalid:     say("correct the named field of the pod"),
	ConstraintUnsupported:  say("do without it, or run the pod on a node that Millwright does not launch"),
	PreferenceTooDear:      say("nothing, or raise --preference-cost, or make the preference a requirement"),
	PreferenceNotMet:       say("nothing, or make the preference a requirement"),
	SchedulingGated:        say("the gate's owner has to remove it: %s", have),
	JobSuspended:           say("set spec.suspend of %s to false, or wait for what suspended it, such as a queue", first("the Job")),
	PodEnded:               say("nothing: it needs no machine"),
	PodOfNode:              say("nothing: it needs no machine"),
	PodOfDaemonSet:         say("make room for it on its node, or give the DaemonSet a higher priority"),
	Preempting:             say("nothing: kube-scheduler binds it when the pods that it evicts have gone"),
	OptedOut:               say("let the pod accept nodes with the label karpenter.sh/nodepool"),
	ResizeDeferred:         say("make room on %s, or delete %s once its workload asks for as much: only a pod without a node gets a new one", second("its node"), first("the pod")),
	ResizeInfeasible:       say("ask for what %s can give, or delete %s once its workload asks for as much: only a pod without a node gets a new one", second("its node"), first("the pod")),
	AwaitingScheduler:      say("nothing: %s tries it in a moment; if it does not, check that it runs, and spec.schedulerName", scheduler),
}

// labelFix is what gives a pod the labels that it asks for.
func labelFix(r Reason) string {
	if r.Field == FieldVolumes {
		return "allow the pool the zones of the volume, or give the pod a volume in one that the pool allows"
	}
	return fmt.Sprintf("change %s of the pod, or let the labels and requirements of a pool allow it", cmp.Or(r.Field, "what is named"))
}

// budgets is where the budget of a reason is written.
func (r Reason) budgets() string { return cmp.Or(r.Field, "spec.disruption.budgets") }

// roomInBudget is what makes room in a budget that is used up.
func roomInBudget(r Reason) string {
	raise := "raise nodes in " + r.budgets()
	switch {
	case !r.Until.IsZero():
		return "wait until the budget opens, or " + raise
	case r.Total == 0:
		return raise + "; it allows none, and waiting alone does not change that"
	}
	return "wait until fewer nodes are not ready or leaving, or " + raise
}

// hurdleFix is about a saving that is too small.
func hurdleFix(r Reason) string {
	return cmp.Or(hurdleFixes[r.Field], "nothing: what could be saved does not pay for moving the pods that are there")
}

// hurdleFixes are by the setting that decides.
var hurdleFixes = map[string]string{
	"minSavingPercent": "nothing, or lower minSavingPercent in NodePolicy spec.disruption",
	"spotToSpot":       "allow the pool more instance types, or lower spotToSpot.minTypes in NodePolicy spec.disruption",
	"paybackTime":      "nothing, or raise paybackTime or lower podMoveCost in NodePolicy spec.disruption",
	"machines":         "nothing: several small machines would be hardly cheaper than what is there",
	"loopFreeze":       "nothing: less is asked when fewer pods were evicted lately; loopFreeze in NodePolicy spec.disruption says for how long they count, 0s not at all",
}

// unlessClosed is for reasons that a pool's not being ready may be behind.
func unlessClosed(fix func(Reason) string) func(Reason) string {
	return func(r Reason) string {
		if r.Have != "" {
			return "see why its pool cannot launch: millwright why nodepool/NAME"
		}
		return fix(r)
	}
}
