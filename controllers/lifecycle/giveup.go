package lifecycle

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// abandon gives a claim up for what a step says of it.
func (r *Reconciler) abandon(ctx context.Context, claim *karpv1.NodeClaim, step lifecycle.Step) error {
	claim, err := r.deps.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) { annotate(c, step) })
	if err != nil {
		return err
	}
	return r.giveUp(ctx, claim, step.Delete, step.Blocked())
}

// giveUp deletes the claim; its finalizer takes care of what was launched.
func (r *Reconciler) giveUp(ctx context.Context, claim *karpv1.NodeClaim, reason lifecycle.DeleteReason, why string) error {
	claim, err := r.deps.Writer.GiveUp(ctx, claim, reason, why)
	if err != nil {
		return err
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
