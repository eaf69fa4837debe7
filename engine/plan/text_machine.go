package plan

import (
	"fmt"
	"strings"
)

// lifecycleText words the reasons of codes_lifecycle.go; empty for others.
func lifecycleText(r Reason) string {
	switch r.Code {
	case LaunchPending:
		return "the instance has not been requested yet"
	case LaunchFailed:
		return "the launch failed: " + r.Have
	case NothingToLaunch:
		return "no available instance type satisfies the claim"
	case NodeNotFound:
		return "no Node with provider ID " + r.Want + " is in the cluster"
	case MultipleNodesFound:
		return "several Nodes carry the same provider ID: " + list(r.Objects, "")
	case RegistrationPending:
		return r.first("the Node") + " has joined and is being registered"
	case NominationPending:
		return r.first("the Node") + " has joined; it takes pods as soon as those planned for it are nominated and the other machines of its plan are ready: " + list(r.Objects[min(1, len(r.Objects)):], "")
	case NodeNotReady:
		return withCause(r.first("the Node")+" is not Ready", r.Have)
	case StartupTaintsExist:
		return "startup taint " + r.Have + " is still on " + r.first("the Node")
	case KnownEphemeralTaintsExist:
		return "taint " + r.Have + " is still on " + r.first("the Node")
	case ResourceNotRegistered:
		return r.first("the Node") + " has no " + r.Want + " yet, which the claim requests"
	case DRADriverPoolsNotPublished:
		return "driver " + r.Want + " has not published all its ResourceSlices for " + r.first("the Node")
	}
	return initializationText(r)
}

// initializationText words the gates that Karpenter does not have.
func initializationText(r Reason) string {
	switch r.Code {
	case PlannedPodsFirst:
		return withCause(r.first("the Node")+" takes only the pods that it was launched for until they are bound", list(r.Objects[min(1, len(r.Objects)):], r.Have))
	case StaleUninitializedTaint:
		return "taint " + r.Have + " was left on " + r.first("the Node") + " by the cloud controller manager, which has done its work there (provider ID, addresses and zone are set)"
	case UndeclaredStartupTaint:
		return "taint " + r.Have + " is still on " + r.first("the Node") + "; nodes of NodePool " + r.Want + " usually lose it, but its startupTaints do not list it"
	case UndeclaredStartupTaints:
		return "new nodes of " + r.first("the pool") + " lose taints that it does not declare; plans treat them as startup taints. Add to spec.template.spec:\nstartupTaints:\n" + r.Want
	case CSIDriverNotRegistered:
		return withCause("CSI driver "+r.Want+" is not registered in csinode/"+strings.TrimPrefix(r.first(""), "node/"), r.Have)
	case NodeConditionNotMet:
		return withCause("condition "+r.Want+" does not hold on "+r.first("the Node"), r.Have)
	case LaunchesPaused, LaunchesOnTrial:
		return pausedText(r)
	case LaunchesRefused:
		return "the API server refuses to create NodeClaims: " + r.Have + "; tried again after " + at(r.Until)
	case MachinesUnused:
		return unusedText(r)
	case DaemonSetNotReady:
		return withCause(list(r.Objects[min(1, len(r.Objects)):], "")+" is not Ready on "+r.first("the Node"), r.Have)
	}
	return ""
}

// unusedText words what machines that a workload did not use mean for the next ones.
func unusedText(r Reason) string {
	times := ""
	if r.Total > 1 {
		times = fmt.Sprintf(", %d times in a row", r.Total)
	}
	text := fmt.Sprintf("machines launched for %s were not used by it%s (%s)", r.Want, times, r.Have)
	if r.Until.IsZero() {
		return text + "; one at a time is launched until one is used"
	}
	return text + "; the next one is launched after " + at(r.Until)
}

// pausedText words what failed machines mean for the next ones.
func pausedText(r Reason) string {
	what := ""
	if r.Want != "" {
		what = " of " + r.Want
	}
	failed := fmt.Sprintf("%d machines%s in a row failed (%s, last %s)", r.Total, what, r.Have, list(r.Objects[min(1, len(r.Objects)):], ""))
	if r.Total == 1 {
		failed = fmt.Sprintf("a machine%s failed (%s, %s)", what, r.Have, list(r.Objects[min(1, len(r.Objects)):], ""))
	}
	if r.Code == LaunchesOnTrial {
		return failed + "; one at a time is launched until one becomes ready"
	}
	return failed + "; no other is launched before " + at(r.Until)
}
