package plan

import "fmt"

// lifecycleText words the reasons of codes_lifecycle.go; empty for others.
func lifecycleText(r Reason) string {
	switch r.Code {
	case LaunchPending:
		return "the cloud has not been asked for the machine yet"
	case LaunchFailed:
		return "the cloud refused the machine: " + r.Have
	case NothingToLaunch:
		return "no instance type that can be had at present satisfies the claim"
	case NodeNotFound:
		return "no Node with provider ID " + r.Want + " is in the cluster"
	case MultipleNodesFound:
		return "several Nodes carry the same provider ID: " + list(r.Objects, "")
	case RegistrationPending:
		return r.first("the Node") + " has joined and is being taken over"
	case NodeNotReady:
		return withCause(r.first("the Node")+" is not Ready", r.Have)
	case StartupTaintsExist:
		return "startup taint " + r.Have + " is still on " + r.first("the Node")
	case KnownEphemeralTaintsExist:
		return "taint " + r.Have + " is still on " + r.first("the Node")
	case ResourceNotRegistered:
		return r.first("the Node") + " has no " + r.Want + " yet, which the claim asks for"
	case DRADriverPoolsNotPublished:
		return "driver " + r.Want + " has not published all its ResourceSlices for " + r.first("the Node")
	}
	return ""
}

// drainText words the reasons of codes_drain.go; empty for others.
func drainText(r Reason) string {
	switch r.Code {
	case EvictionPending:
		return r.first("the pod") + " is being evicted"
	case LaterWave:
		return fmt.Sprintf("%s leaves later: %s pods wait for %s ones", r.first("the pod"), r.Want, r.Have)
	case PodTerminating:
		return until(r.first("the pod")+" is ending", r.Until)
	case PodStuck:
		return r.first("the pod") + " should have ended at " + at(r.Since) + " and is not waited for any more"
	case PodStays:
		return r.first("the pod") + " tolerates the taint karpenter.sh/disrupted and goes with the machine"
	case MirrorPod:
		return r.first("the pod") + " is run by the kubelet itself"
	case PDBConflict:
		return r.first("the pod") + " can never be evicted, because several budgets guard it: " + list(r.Objects[min(1, len(r.Objects)):], "")
	case MinimumDrain:
		return until("the node is empty; a pod may still be on its way", r.Until)
	case VolumeAttached:
		return r.first("an attachment") + " is still there: " + list(r.Objects[min(1, len(r.Objects)):], "")
	case VolumeIgnored:
		return r.first("the attachment") + " is not waited for: " + r.Have
	}
	return ""
}
