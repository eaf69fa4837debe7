package lifecycle

import (
	"strings"

	"github.com/millwright-dev/millwright/engine/plan"
)

// text words the reason of a closed gate for a condition.
func text(r plan.Reason) string {
	switch r.Code {
	case plan.LaunchPending:
		return "the cloud has not been asked for the machine yet"
	case plan.LaunchFailed:
		return "the cloud refused the machine: " + r.Have
	case plan.NodeNotFound:
		return "no Node with provider ID " + r.Want + " has joined the cluster"
	case plan.MultipleNodesFound:
		return "several Nodes carry the same provider ID: " + names(r.Objects)
	case plan.RegistrationPending:
		return names(r.Objects) + " has joined and is being taken over"
	case plan.NodeNotReady:
		return names(r.Objects) + " is not Ready (" + r.Have + ")"
	case plan.StartupTaintsExist:
		return "startup taint " + r.Have + " is still on " + names(r.Objects)
	case plan.KnownEphemeralTaintsExist:
		return "taint " + r.Have + " is still on " + names(r.Objects)
	case plan.ResourceNotRegistered:
		return names(r.Objects) + " has no " + r.Want + " yet, which the claim asks for"
	case plan.DRADriverPoolsNotPublished:
		return "driver " + r.Want + " has not published all its ResourceSlices for " + names(r.Objects)
	}
	return string(r.Code)
}

func names(refs []plan.ObjectRef) string {
	out := make([]string, 0, len(refs))
	for _, r := range refs {
		out = append(out, r.Name)
	}
	return strings.Join(out, ", ")
}
