package lifecycle

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// event is what the owner of a claim is told when it is given up; empty where
// Karpenter has no reason for it.
func event(reason lifecycle.DeleteReason) string {
	switch reason {
	case lifecycle.InsufficientCapacity:
		return apply.InsufficientCapacity
	case lifecycle.NodeClassNotReady:
		return apply.NodeClassNotReady
	}
	return ""
}

// giveUp deletes the claim; its finalizer takes care of what was launched.
func (r *Reconciler) giveUp(ctx context.Context, claim *karpv1.NodeClaim, reason lifecycle.DeleteReason, why string) error {
	if event := event(reason); event != "" {
		r.deps.Writer.Event(apply.Event{
			Object: claim, Warning: true, Reason: event,
			Message: fmt.Sprintf("NodeClaim %s is given up: %s", claim.Name, why),
		})
	}
	first, err := r.deps.Writer.Delete(ctx, claim)
	if err != nil || !first {
		return err
	}
	log.FromContext(ctx).Info("gave up a NodeClaim", "reason", reason, "because", why)
	value := cluster.Claim(claim)
	r.deps.Metrics.ClaimDisrupted(metrics.Disruption{
		Reason: string(reason), Pool: value.Pool, CapacityType: value.Labels[catalog.CapacityTypeLabel], GracePeriod: value.TerminationGracePeriod,
	})
	return nil
}
