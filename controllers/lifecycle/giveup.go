package lifecycle

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// eventReason is under which reason the owner of a claim is told that it is given
// up; empty where nobody has to know.
func eventReason(reason lifecycle.DeleteReason) string {
	switch reason {
	case lifecycle.InsufficientCapacity:
		return apply.InsufficientCapacity
	case lifecycle.NodeClassNotReady:
		return apply.NodeClassNotReady
	case lifecycle.LaunchTimedOut, lifecycle.RegistrationTimedOut, lifecycle.InitializationTimedOut, lifecycle.StaleTaint:
		return apply.GivenUp
	}
	return ""
}

// giveUp deletes the claim; its finalizer takes care of what was launched. A
// failure is written on the claim first, for those who count them.
func (r *Reconciler) giveUp(ctx context.Context, claim *karpv1.NodeClaim, reason lifecycle.DeleteReason, why string) error {
	if event := eventReason(reason); event != "" {
		r.deps.Writer.Event(apply.Event{
			Object: claim, Warning: true, Reason: event,
			Message: fmt.Sprintf("NodeClaim %s is given up: %s", claim.Name, why),
		})
	}
	if reason.Failure() {
		var err error
		claim, err = r.deps.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, lifecycle.GivenUpAnnotation, string(reason))
		})
		if err != nil {
			return err
		}
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
