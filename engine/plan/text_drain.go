package plan

import "strings"

// drainWords are those of codes_drain.go.
var drainWords = words{
	EvictionPending:      caused(say("%s is being evicted", first("the pod"))),
	EvictionRefused:      caused(say("the API server refuses to evict %s", first("the pod"))),
	EvictionPaced:        say("%s is evicted later: the policy lets %s pods of a node terminate at once", first("the pod"), want),
	LaterWave:            say("%s leaves later: %s pods wait for %s ones", first("the pod"), want, have),
	PodTerminating:       ends(caused(say("%s is terminating", first("the pod")))),
	PodStuck:             say("%s should have terminated by %s and is no longer waited for", first("the pod"), since),
	PodHeld:              say("%s has terminated but its finalizers keep it: %s", first("the pod"), have),
	PodLeftBehind:        say("%s is left behind: it was still there at the deadline", first("the pod")),
	PodStays:             say("%s tolerates the taint karpenter.sh/disrupted and stays until the instance terminates", first("the pod")),
	AgentStays:           say("%s stays until the instance terminates: %s", first("the pod"), have),
	AgentLacksToleration: say("%s %s and does not tolerate the taint karpenter.sh/disrupted", first("a DaemonSet"), have),
	MirrorPod:            say("%s is run by the kubelet itself", first("the pod")),
	PDBConflict:          say("%s can never be evicted, because several PodDisruptionBudgets select it: %s", first("the pod"), others),
	PDBNeverAllows:       say("%s can never be evicted, because %s requires %s of %s pods to be healthy", first("the pod"), others, want, have),
	PodLost:              say("%s was on an instance that is gone", first("the pod")),
	MinimumDrain:         ends(say("the node is empty; a pod may still be being bound to it")),

	HookPending: ends(say("%s waits for the hook %s%s", first("the Node"), want, hookNow)),
	HookOverdue: ends(say("%s has waited too long for the hook %s%s, and the policy keeps waiting", first("the Node"), want, hookNow)),
	HookSkipped: caused(say("%s goes on without the hook %s", first("the Node"), want)),
	HookPassed:  say("the hook %s has passed", want),

	VolumeInUse:       say("%s is in use", Reason.volume),
	VolumeMounted:     say("%s is still mounted", Reason.volume),
	VolumeUnmounted:   caused(say("%s is unmounted and waits to be detached", Reason.volume)),
	VolumeAttaching:   caused(say("%s is still being attached", Reason.volume)),
	VolumeDetaching:   caused(say("%s is being detached", Reason.volume)),
	VolumeHeld:        say("%s has no attachment any more, but %s", Reason.volume, have),
	CloudSilent:       caused(say("the cloud does not report which volumes are attached to the instance of %s", first("the Node"))),
	VolumeStuck:       caused(say("%s has been %s for too long", Reason.volume, stuckIn)),
	VolumeUnreachable: say("%s is in use on a kubelet that does not respond", Reason.volume),
	VolumeReleasing:   say("%s is still attached to an instance that is gone", Reason.volume),
	VolumeIgnored:     say("%s is not waited for: %s", first("the attachment"), have),
}

// hookNow tells how what a hook waits for stands.
func hookNow(r Reason) string {
	switch jobs := r.rest(); {
	case len(jobs) > 0:
		return ", " + list(jobs, "") + " is " + r.Have
	case r.Have != "":
		return ", which is " + r.Have
	}
	return ""
}

// stuckIn words the state of a stuck volume.
func stuckIn(r Reason) string {
	switch Code(r.Want) {
	case VolumeInUse:
		return "in use"
	case VolumeMounted:
		return "mounted"
	case VolumeUnmounted:
		return "unmounted without being detached"
	case VolumeAttaching:
		return "attaching"
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
func (r Reason) Remedy() string { return remedies.of(r) }

var remedies = words{
	PDBBlocks:       say("%s has to allow a disruption: more of its pods have to be healthy", others),
	PDBNeverAllows:  say("%s: raise maxUnavailable, lower minAvailable or add a replica, so that it can allow a disruption", others),
	PDBConflict:     say("let only one of the budgets select the pod"),
	EvictionRefused: say("give the controller the rights to create pods/eviction and to delete pods, or mend the admission webhook or policy that refuses"),
	DoNotDisrupt: func(r Reason) string {
		if r.Until.IsZero() {
			return "remove the annotation, or wait until the pod terminates"
		}
		return ""
	},
	HookOverdue:          say("the hook's owner has to fulfil it; or set onTimeout: Continue in the policy"),
	PodHeld:              say("the owner of the finalizers has to remove them: %s", have),
	AgentLacksToleration: say("add to its spec.template.spec.tolerations: {key: karpenter.sh/disrupted, operator: Exists, effect: NoSchedule}"),
	VolumeHeld:           say(heldRemedy),
	VolumeStuck:          volumeRemedy,

	AttachmentNodeGone:   say("kubectl delete volumeattachment %s, or a NodePolicy with termination.orphanedAttachments: Delete", Reason.attachment),
	AttachmentDriverGone: say("install the driver again so that it detaches the volume; if the volume is known to be detached, remove the attachment's finalizers"),
	AttachmentVolumeGone: say("detach the volume in the cloud, then remove the finalizers of volumeattachment/%s", Reason.attachment),
	AttachmentSlow:       say("look at the log of the driver's controller"),
}

const heldRemedy = "its holder releases it, or the end of the instance"

func volumeRemedy(r Reason) string {
	switch Code(r.Want) {
	case VolumeInUse:
		return "its pod has to terminate: " + r.Objects[len(r.Objects)-1].String()
	case VolumeMounted:
		return "the kubelet and the driver's node plugin have to unmount it; a plugin that is gone comes back if its DaemonSet tolerates karpenter.sh/disrupted:NoSchedule"
	case VolumeUnmounted:
		return "kube-controller-manager has to detach it; no pod may use it on this node"
	case VolumeAttaching:
		return "look at the log of the driver's controller; the end of the instance releases it"
	case VolumeHeld:
		return heldRemedy
	}
	return "the driver's controller has to detach it; if its finalizer is all that is left of it, remove that from " + r.first("the attachment")
}

// attachment is the name of a VolumeAttachment, the first object.
func (r Reason) attachment() string { return strings.TrimPrefix(r.first(""), "volumeattachment/") }
