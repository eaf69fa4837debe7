package plan

import "fmt"

// placementText words the reasons of codes.go; empty for others.
func placementText(r Reason) string {
	if text := poolText(r); text != "" {
		return r.pool() + ": " + text
	}
	if text := volumeText(r); text != "" {
		return text
	}
	return ignoredText(r)
}

// pool names the pool that a reason is about.
func (r Reason) pool() string {
	if len(r.Objects) == 0 {
		return "every pool"
	}
	return "pool " + r.Objects[0].Name
}

// poolText words what a pool has against a pod.
func poolText(r Reason) string {
	switch r.Code {
	case PoolNotReady:
		return "cannot launch: " + r.Have
	case PoolStatic:
		return "has a fixed number of nodes (spec.replicas)"
	case NoInstanceTypes:
		if r.Total == 0 {
			return "the cloud offers no instance type"
		}
		return fmt.Sprintf("its own requirements leave none of %s: it wants %s, the types have %s", types(r.Total), r.Want, orNothing(r.Have))
	case TaintNotTolerated:
		return fmt.Sprintf("the pod does not tolerate its taint %s", r.Have)
	case RequirementNotMet:
		return fmt.Sprintf("no instance type satisfies %s; they have %s%s", r.Want, orNothing(r.Have), left(r))
	case InsufficientResources:
		if r.Have == "" {
			return fmt.Sprintf("no instance type has room for %s together%s", r.Want, left(r))
		}
		return fmt.Sprintf("no instance type has room for %s; the most after DaemonSets is %s%s", r.Want, r.Have, left(r))
	case HostPortTaken:
		return fmt.Sprintf("host port %s is taken by %s on every node", r.Want, r.second("a DaemonSet"))
	}
	return marketText(r)
}

// marketText words what is there but cannot be had.
func marketText(r Reason) string {
	switch r.Code {
	case OfferingUnavailable:
		return fmt.Sprintf("the cloud has no capacity at present for any of %s that would do, in %s", types(r.Removed), r.Have)
	case LimitExceeded:
		return fmt.Sprintf("one more node would exceed its limit of %s; %s is in use", r.Want, r.Have)
	case MinValuesNotMet:
		return fmt.Sprintf("it demands at least %s (minValues); the types that could take the pod have %s", r.Want, r.Have)
	}
	return ""
}

// volumeText words what rules a pod out wherever it goes.
func volumeText(r Reason) string {
	switch r.Code {
	case NoPools:
		return "there is no NodePool"
	case ConstraintsInvalid:
		return "the pod's constraints cannot be understood: " + r.Have
	case ConstraintUnsupported:
		return "the pod relies on " + r.Want + ", which is not supported"
	case VolumeClaimMissing:
		return r.first("a volume claim") + " does not exist"
	case VolumeClaimUnusable:
		return r.first("a volume claim") + " cannot be used: " + r.Have
	case StorageClassMissing:
		return fmt.Sprintf("%s names %s, which does not exist", r.first("a volume claim"), r.second("a storage class"))
	case TopologyNotSatisfiable:
		return fmt.Sprintf("no node can satisfy %s; %s", r.Want, r.Have)
	}
	return ""
}

// ignoredText words why a pod is not placed by anybody's plan.
func ignoredText(r Reason) string {
	switch r.Code {
	case PodEnded:
		return "the pod has ended or is ending"
	case PodOfDaemonSet:
		return "the pod belongs to a DaemonSet and to a node that exists"
	case PodOfNode:
		return "the kubelet runs the pod by itself"
	case SchedulingGated:
		return fmt.Sprintf("the scheduling gate %s holds the pod back", r.Have)
	case Preempting:
		return "the scheduler makes room for the pod on node " + r.Have
	case OptedOut:
		return "the pod accepts only nodes that belong to no pool (karpenter.sh/nodepool DoesNotExist)"
	case AwaitingScheduler:
		return "the scheduler has not found the pod unschedulable yet"
	}
	return ""
}

func (r Reason) second(otherwise string) string {
	if len(r.Objects) < 2 {
		return otherwise
	}
	return r.Objects[1].String()
}

// left tells how many types were looked at: those that earlier constraints left.
func left(r Reason) string {
	if r.Removed < r.Total {
		return fmt.Sprintf(" (%d of %s left)", r.Removed, types(r.Total))
	}
	return fmt.Sprintf(" (%s)", types(r.Total))
}

func types(n int) string {
	if n == 1 {
		return "1 instance type"
	}
	return fmt.Sprintf("%d instance types", n)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
