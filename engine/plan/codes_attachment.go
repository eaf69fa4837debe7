package plan

// What is wrong with a VolumeAttachment: the verdicts of package attachment. The
// first object is the attachment, the second its Node; then come, as far as they
// are known, the volume and its claim.
const (
	// AttachmentNodeGone: the Node does not exist.
	AttachmentNodeGone Code = "AttachmentNodeGone"
	// AttachmentDriverGone: the driver Want is on no node of the cluster.
	AttachmentDriverGone Code = "AttachmentDriverGone"
	// AttachmentVolumeGone: the PersistentVolume does not exist.
	AttachmentVolumeGone Code = "AttachmentVolumeGone"
	// AttachmentSlow: the volume has not become Want ("attached" or "detached") in
	// time; Have is the driver's error, if it reported one.
	AttachmentSlow Code = "AttachmentSlow"
)
