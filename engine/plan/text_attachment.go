package plan

// attachmentWords are those of codes_attachment.go.
var attachmentWords = words{
	AttachmentNodeGone:   say("%s is left over from a node that is gone", Reason.volume),
	AttachmentDriverGone: say("%s belongs to driver %s, which runs on no node", Reason.volume, want),
	AttachmentVolumeGone: say("%s belongs to a volume that does not exist", Reason.volume),
	AttachmentSlow:       caused(say("%s has not been %s in time", Reason.volume, want)),
}
