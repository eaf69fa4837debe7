package plan

// What a machine that is going away waits for, and what it does not wait for:
// the verdicts of package drain. DoNotDisrupt and PDBBlocks appear here as well.
const (
	// EvictionPending: the eviction of the pod, the first object, is next.
	EvictionPending Code = "EvictionPending"
	// LaterWave: the pod leaves after those of an earlier wave; Want is its wave,
	// Have the wave that is leaving.
	LaterWave Code = "LaterWave"
	// PodTerminating: the pod is ending; Until is the end of its grace period.
	PodTerminating Code = "PodTerminating"
	// PodStuck: the pod should have ended more than a minute ago and is not waited
	// for any more; Since is when it should have.
	PodStuck Code = "PodStuck"
	// PodStays: the pod tolerates the disrupted taint and goes with the machine.
	PodStays Code = "PodStays"
	// MirrorPod: the kubelet runs the pod by itself.
	MirrorPod Code = "MirrorPod"
	// PDBConflict: several PDBs, the objects after the pod, guard the pod, and the
	// eviction API refuses to choose.
	PDBConflict Code = "PDBConflict"
	// MinimumDrain: the node is empty but has not been tainted for long enough to
	// be sure that no pod was being bound; Until is when it will have been.
	MinimumDrain Code = "MinimumDrain"
	// VolumeAttached: the attachment, the first object, of a volume, the second, is
	// still there.
	VolumeAttached Code = "VolumeAttached"
	// VolumeIgnored: the attachment is not waited for; Have says why.
	VolumeIgnored Code = "VolumeIgnored"
)
