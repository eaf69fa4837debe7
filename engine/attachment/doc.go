// Package attachment finds VolumeAttachments that something is wrong with: they
// are not detached, or cannot be. A pod that wants such a volume waits for it, often
// without saying so.
//
//	snapshot ──► Faults ──► reasons: node gone, driver gone, volume gone, failing
//
// One attachment has one verdict, the first that holds in that order. Attachments
// that Kubernetes or the driver is just working on have none.
package attachment
