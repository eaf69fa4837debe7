package plan

import "fmt"

// drainText words the reasons of codes_drain.go; empty for others.
func drainText(r Reason) string {
	switch r.Code {
	case EvictionPending:
		return withCause(r.first("the pod")+" is being evicted", r.Have)
	case EvictionPaced:
		return r.first("the pod") + " is evicted later: the policy lets " + r.Want + " pods of a node terminate at once"
	case LaterWave:
		return fmt.Sprintf("%s leaves later: %s pods wait for %s ones", r.first("the pod"), r.Want, r.Have)
	case PodTerminating:
		return until(r.first("the pod")+" is terminating", r.Until)
	case PodStuck:
		return r.first("the pod") + " should have terminated by " + at(r.Since) + " and is no longer waited for"
	case PodHeld:
		return r.first("the pod") + " has terminated but its finalizers keep it: " + r.Have
	case PodLeftBehind:
		return r.first("the pod") + " is left behind: it was still there at the deadline"
	case PodStays:
		return r.first("the pod") + " tolerates the taint karpenter.sh/disrupted and stays until the instance terminates"
	case AgentStays:
		return r.first("the pod") + " stays until the instance terminates: " + r.Have
	case AgentLacksToleration:
		return fmt.Sprintf("%s %s and does not tolerate the taint karpenter.sh/disrupted", r.first("a DaemonSet"), r.Have)
	case MirrorPod:
		return r.first("the pod") + " is run by the kubelet itself"
	case PDBConflict:
		return r.first("the pod") + " can never be evicted, because several PodDisruptionBudgets select it: " + list(r.rest(), "")
	case PDBNeverAllows:
		return fmt.Sprintf("%s can never be evicted, because %s requires %s of %s pods to be healthy", r.first("the pod"), list(r.rest(), ""), r.Want, r.Have)
	case PodLost:
		return r.first("the pod") + " was on an instance that is gone"
	case MinimumDrain:
		return until("the node is empty; a pod may still be being bound to it", r.Until)
	}
	if text := hookText(r); text != "" {
		return text
	}
	return detachText(r)
}

// hookText words what hooks come to.
func hookText(r Reason) string {
	now := ""
	if r.Have != "" {
		now = ", which is " + r.Have
	}
	if jobs := r.rest(); len(jobs) > 0 {
		now = ", " + list(jobs, "") + " is " + r.Have
	}
	switch r.Code {
	case HookPending:
		return until(r.first("the Node")+" waits for the hook "+r.Want+now, r.Until)
	case HookOverdue:
		return until(r.first("the Node")+" has waited too long for the hook "+r.Want+now+", and the policy keeps waiting", r.Until)
	case HookSkipped:
		return withCause(r.first("the Node")+" goes on without the hook "+r.Want, r.Have)
	case HookPassed:
		return "the hook " + r.Want + " has passed"
	}
	return ""
}

// detachText words the states of volumes.
func detachText(r Reason) string {
	switch r.Code {
	case VolumeInUse:
		return r.volume() + " is in use"
	case VolumeMounted:
		return r.volume() + " is still mounted"
	case VolumeUnmounted:
		return withCause(r.volume()+" is unmounted and waits to be detached", r.Have)
	case VolumeDetaching:
		return withCause(r.volume()+" is being detached", r.Have)
	case VolumeHeld:
		return r.volume() + " has no attachment any more, but " + r.Have
	case CloudSilent:
		return withCause("the cloud does not report which volumes are attached to the instance of "+r.first("the Node"), r.Have)
	case VolumeStuck:
		return withCause(fmt.Sprintf("%s has been %s for too long", r.volume(), stuckIn(r.Want)), r.Have)
	case VolumeUnreachable:
		return r.volume() + " is in use by a pod on a kubelet that does not respond"
	case VolumeReleasing:
		return r.volume() + " is still attached to an instance that is gone"
	case VolumeIgnored:
		return r.first("the attachment") + " is not waited for: " + r.Have
	}
	return ""
}

// stuckIn words the state of a stuck volume.
func stuckIn(state string) string {
	switch Code(state) {
	case VolumeInUse:
		return "in use"
	case VolumeMounted:
		return "mounted"
	case VolumeUnmounted:
		return "unmounted without being detached"
	case VolumeHeld:
		return "held without an attachment"
	}
	return "detaching"
}

// volume names an attachment and in parentheses what belongs to it.
func (r Reason) volume() string { return withCause(r.first("an attachment"), list(r.rest(), "")) }

// rest are the objects after the first.
func (r Reason) rest() []ObjectRef { return r.Objects[min(1, len(r.Objects)):] }

// Toleration is what a DaemonSet needs whose pods are to stay until the end of a
// machine, as YAML to be merged into it. Its list of tolerations has to be kept:
// merging replaces a list.
const Toleration = `spec:
  template:
    spec:
      tolerations:
      - key: karpenter.sh/disrupted
        operator: Exists
        effect: NoSchedule
`

// Remedy is what would end a wait that does not end by itself: something to do,
// in words. Empty for other reasons.
func (r Reason) Remedy() string {
	budgets := list(r.rest(), "")
	switch r.Code {
	case PDBBlocks:
		return budgets + " has to allow a disruption: more of its pods have to be healthy"
	case PDBNeverAllows:
		return budgets + ": lower minAvailable or add a replica, so that it can allow a disruption"
	case PDBConflict:
		return "let only one of the budgets select the pod"
	case DoNotDisrupt:
		if r.Until.IsZero() {
			return "remove the annotation, or wait until the pod terminates"
		}
	case HookOverdue:
		return "the hook's owner has to fulfil it; or set onTimeout: Continue in the policy"
	case PodHeld:
		return "the owner of the finalizers has to remove them: " + r.Have
	case AgentLacksToleration:
		return "add to its spec.template.spec.tolerations: {key: karpenter.sh/disrupted, operator: Exists, effect: NoSchedule}"
	case VolumeHeld:
		return "its holder releases it, or the end of the instance"
	case VolumeStuck:
		return r.volumeRemedy()
	}
	return attachmentRemedy(r)
}

func (r Reason) volumeRemedy() string {
	switch Code(r.Want) {
	case VolumeInUse:
		return "its pod has to terminate: " + r.Objects[len(r.Objects)-1].String()
	case VolumeMounted:
		return "the kubelet and the driver's node plugin have to unmount it"
	case VolumeUnmounted:
		return "kube-controller-manager has to detach it; no pod may use it on this node"
	case VolumeHeld:
		return "its holder releases it, or the end of the instance"
	}
	return "the driver's controller has to detach it; if its finalizer is all that is left of it, remove that from " + r.first("the attachment")
}
