package plan

import "strings"

// attachmentText words the reasons of codes_attachment.go; empty for others.
func attachmentText(r Reason) string {
	switch r.Code {
	case AttachmentNodeGone:
		return r.volume() + " is left over from a node that is gone"
	case AttachmentDriverGone:
		return r.volume() + " belongs to driver " + r.Want + ", which runs on no node"
	case AttachmentVolumeGone:
		return r.volume() + " belongs to a volume that does not exist"
	case AttachmentSlow:
		return withCause(r.volume()+" has not been "+r.Want+" in time", r.Have)
	}
	return ""
}

// attachmentRemedy is what would end the fault.
func attachmentRemedy(r Reason) string {
	name := strings.TrimPrefix(r.first(""), "volumeattachment/")
	switch r.Code {
	case AttachmentNodeGone:
		return "kubectl delete volumeattachment " + name + ", or a NodePolicy with termination.orphanedAttachments: Delete"
	case AttachmentDriverGone:
		return "install the driver again so that it detaches the volume; if the volume is known to be detached, remove the attachment's finalizers"
	case AttachmentVolumeGone:
		return "detach the volume in the cloud, then remove the finalizers of volumeattachment/" + name
	case AttachmentSlow:
		return "look at the log of the driver's controller"
	}
	return ""
}
