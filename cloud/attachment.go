package cloud

import (
	"context"

	"github.com/millwright-dev/millwright/engine/drain"
)

// Attachment is a volume that a cloud has attached to a machine, in words that are
// the same for every cloud.
type Attachment = drain.CloudAttachment

// AttachmentLister is a provider that knows which volumes are attached to a machine,
// whatever Kubernetes thinks of them. It is found by assertion.
type AttachmentLister interface {
	// Attachments lists the volumes of one machine, in any order, from the cloud
	// itself: it is asked before a machine is ended, not in passing. Volumes that are
	// deleted together with the machine are left out. On EC2 these are the block
	// devices of DescribeInstances without DeleteOnTermination, with the states of
	// DescribeVolumes: attaching, attached, detaching, busy.
	//
	// Errors: ErrNotFound once the machine is gone, UnauthorizedError if the
	// credentials do not allow to look, ThrottledError.
	Attachments(ctx context.Context, providerID string) ([]Attachment, error)
}
