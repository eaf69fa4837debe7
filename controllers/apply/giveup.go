package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// GiveUp tells the owner of a claim, before it is deleted, why it is given up. A failure is
// written on the claim, for those who count them.
func (w *Writer) GiveUp(ctx context.Context, claim *karpv1.NodeClaim, reason lifecycle.DeleteReason, why string) (*karpv1.NodeClaim, error) {
	if event := givenUp(reason); event != "" {
		w.Event(Event{Object: claim, Warning: true, Reason: event, Message: "NodeClaim " + claim.Name + " is given up: " + why})
	}
	if !reason.Failure() {
		return claim, nil
	}
	return w.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, lifecycle.GivenUpAnnotation, string(reason))
	})
}

// Ended is GiveUp for a claim whose machine the cloud has ended.
func (w *Writer) Ended(ctx context.Context, claim *karpv1.NodeClaim, why string) (*karpv1.NodeClaim, error) {
	return w.GiveUp(ctx, claim, lifecycle.Ended(cluster.Claim(claim)), "its machine ended before it joined: "+why)
}

// givenUp is the event's reason; empty for no event.
func givenUp(reason lifecycle.DeleteReason) string {
	switch reason {
	case lifecycle.InsufficientCapacity:
		return InsufficientCapacity
	case lifecycle.NodeClassNotReady:
		return NodeClassNotReady
	}
	if reason.Failure() {
		return GivenUp
	}
	return ""
}
