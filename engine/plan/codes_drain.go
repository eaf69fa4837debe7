package plan

// What a machine that is going away waits for, and what it does not wait for:
// the verdicts of package drain on pods. DoNotDisrupt and PDBBlocks appear here
// as well.
const (
	// EvictionPending: the eviction of the pod, the first object, is next; Have
	// says so if the pod came after the drain began.
	EvictionPending Code = "EvictionPending"
	// EvictionRefused: the API server does not let the pod be evicted, whatever its budgets
	// say; Have are its words.
	EvictionRefused Code = "EvictionRefused"
	// EvictionPaced: Want pods of the node are ending, no more may at once.
	EvictionPaced Code = "EvictionPaced"
	// LaterWave: the pod leaves after those of an earlier wave; Want is its wave,
	// Have the wave that is leaving.
	LaterWave Code = "LaterWave"
	// PodTerminating: the pod is ending; Until is the end of its grace period.
	PodTerminating Code = "PodTerminating"
	// PodStuck: the pod should have ended more than a minute ago and is not waited
	// for any more; Since is when it should have.
	PodStuck Code = "PodStuck"
	// PodHeld: the pod has ended, and its finalizers, Have, keep the object.
	PodHeld Code = "PodHeld"
	// PodLeftBehind: the pod was still there at the deadline, Since.
	PodLeftBehind Code = "PodLeftBehind"
	// PodStays: the pod tolerates the disrupted taint and goes with the machine.
	PodStays Code = "PodStays"
	// AgentStays: the node needs the pod until its end; Have says what for.
	AgentStays Code = "AgentStays"
	// AgentLacksToleration: a DaemonSet, the first object, whose pod, the second,
	// is an agent of the node as Have says, does not tolerate the disrupted taint.
	AgentLacksToleration Code = "AgentLacksToleration"
	// MirrorPod: the kubelet runs the pod by itself.
	MirrorPod Code = "MirrorPod"
	// PDBConflict: several PDBs, the objects after the pod, guard the pod, and the
	// eviction API refuses to choose.
	PDBConflict Code = "PDBConflict"
	// PDBNeverAllows: the PDB, the second object, demands Want healthy pods of the
	// Have that there are to be, so it lets none go even when all are healthy.
	PDBNeverAllows Code = "PDBNeverAllows"
	// PodLost: the pod was on a machine that is gone; Kubernetes removes it.
	PodLost Code = "PodLost"
	// MinimumDrain: the node is empty but has not been tainted for long enough to
	// be sure that no pod was being bound; Until is when it will have been.
	MinimumDrain Code = "MinimumDrain"
)

// What a policy's hooks come to, before a drain or before the end of a machine. The
// first object is the Node, the second the Job if there is one; Want is the hook's name
// and what it waits for, Have how that stands, Since when the wait began.
const (
	// HookPending: it is waited for, until Until.
	HookPending Code = "HookPending"
	// HookOverdue: its time is over, and the policy waits on; Until is when the machine
	// has no more time for it.
	HookOverdue Code = "HookOverdue"
	// HookSkipped: it is not waited for any more; Have says why.
	HookSkipped Code = "HookSkipped"
	// HookPassed: what it waits for is there.
	HookPassed Code = "HookPassed"
)

// The states of a volume on its way off a machine. The first object is the
// attachment, unless there is none any more; then come, as far as they are known, the volume, its claim, and the
// pod that uses or wants it. Have is what the driver reported last, if it failed.
const (
	// VolumeInUse: a pod of the machine that is to leave still uses the volume.
	VolumeInUse Code = "VolumeInUse"
	// VolumeMounted: its pods are gone and the kubelet still reports it in use.
	VolumeMounted Code = "VolumeMounted"
	// VolumeUnmounted: the kubelet is done with it and its detachment is next.
	VolumeUnmounted Code = "VolumeUnmounted"
	// VolumeAttaching: no pod of the machine uses it any more, and it was never attached.
	VolumeAttaching Code = "VolumeAttaching"
	// VolumeDetaching: the driver has been told to detach it, at Since.
	VolumeDetaching Code = "VolumeDetaching"
	// VolumeHeld: the volume, the first object, has no attachment any more, and
	// something still holds it on the machine; Have says who.
	VolumeHeld Code = "VolumeHeld"
	// CloudSilent: the cloud does not say which volumes are attached to the machine
	// of the Node, the first object; Have is its error.
	CloudSilent Code = "CloudSilent"
	// VolumeStuck: it has been in the state Want, a code, for too long; Have says
	// why if that is known.
	VolumeStuck Code = "VolumeStuck"
	// VolumeUnreachable: a pod uses it that should have ended, or it should have been
	// unmounted, and the kubelet does not answer: only the end of the machine can release it.
	VolumeUnreachable Code = "VolumeUnreachable"
	// VolumeReleasing: the machine is gone, the attachment not yet.
	VolumeReleasing Code = "VolumeReleasing"
	// VolumeIgnored: the attachment is not waited for; Have says why.
	VolumeIgnored Code = "VolumeIgnored"
)
