package plan

import (
	"fmt"
	"strings"
)

// lifecycleWords are those of codes_lifecycle.go.
var lifecycleWords = words{
	LaunchPending:              say("the cloud has not answered a request for its instance yet"),
	LaunchFailed:               say("the launch failed: %s", have),
	NothingToLaunch:            say("no available instance type satisfies the claim"),
	NodeNotFound:               say("no Node with provider ID %s is in the cluster", want),
	MultipleNodesFound:         say("several Nodes carry the same provider ID: %s", all),
	RegistrationPending:        say("%s has joined and is being registered", first("the Node")),
	NominationPending:          say("%s has joined; it takes pods as soon as it and the other machines of its plan are ready, their startup taints are gone and the pods planned for it are nominated: %s", first("the Node"), others),
	NodeNotReady:               caused(say("%s is not Ready", first("the Node"))),
	StartupTaintsExist:         say("startup taint %s is still on %s", have, first("the Node")),
	KnownEphemeralTaintsExist:  say("taint %s is still on %s", have, first("the Node")),
	ResourceNotRegistered:      say("%s has no %s yet, which the claim requests", first("the Node"), want),
	DRADriverPoolsNotPublished: say("driver %s has not published all its ResourceSlices for %s", want, first("the Node")),
	PlannedPodsFirst: func(r Reason) string {
		return withCause(r.first("the Node")+" takes only the pods that it was launched for until they are bound", list(r.rest(), r.Have))
	},
	StaleUninitializedTaint: say("taint %s was left on %s by the cloud controller manager, which has done its work there (provider ID, addresses and zone are set)", have, first("the Node")),
	UndeclaredStartupTaint:  say("taint %s is still on %s; nodes of NodePool %s usually lose it, but its startupTaints do not list it", have, first("the Node"), want),
	UndeclaredStartupTaints: say("new nodes of %s lose taints that it does not declare; plans treat them as startup taints. Add to spec.template.spec:\nstartupTaints:\n%s", first("the pool"), want),
	CSIDriverNotRegistered: func(r Reason) string {
		return withCause("CSI driver "+r.Want+" is not registered in csinode/"+strings.TrimPrefix(r.first(""), "node/"), r.Have)
	},
	NodeConditionNotMet: caused(say("condition %s does not hold on %s", want, first("the Node"))),
	LaunchesPaused:      pausedText,
	LaunchesOnTrial:     pausedText,
	LaunchesRefused:     say("the API server refuses to create NodeClaims: %s; tried again after %s", have, end),
	MachinesUnused:      unusedText,
	DaemonSetNotReady:   caused(say("%s is not Ready on %s", others, first("the Node"))),
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

// lackedText words what machines that did not get a resource mean for pods that request it.
func lackedText(r Reason) string {
	text := fmt.Sprintf("the Nodes of %d machines in a row did not get %s (%s)", r.Total, r.Want, r.Have)
	if r.Total == 1 {
		text = fmt.Sprintf("the Node of a machine did not get %s (%s)", r.Want, r.Have)
	}
	if r.Code == LaunchesOnTrial {
		return text + "; for pods that request it one at a time is launched until one gets it"
	}
	return text + "; for pods that request it no other is launched before " + at(r.Until)
}

// pausedText words what failed machines mean for the next ones.
func pausedText(r Reason) string {
	what := ""
	if r.Want != "" {
		what = " of " + r.Want
	}
	if r.Field == FieldRequests {
		return lackedText(r)
	}
	failed := fmt.Sprintf("%d machines%s in a row failed (%s, last %s)", r.Total, what, r.Have, list(r.rest(), ""))
	if r.Total == 1 {
		failed = fmt.Sprintf("a machine%s failed (%s, %s)", what, r.Have, list(r.rest(), ""))
	}
	if r.Code == LaunchesOnTrial {
		return failed + "; one at a time is launched until one becomes ready"
	}
	return failed + "; no other is launched before " + at(r.Until)
}
