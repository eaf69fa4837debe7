package nodepool

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/rand"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/controllers/provision"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/static"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=create;delete

// staff keeps a static pool at its number of machines.
func (r *Reconciler) staff(ctx context.Context, np *karpv1.NodePool) error {
	if np.Spec.Replicas == nil {
		return nil
	}
	defer r.Writer.Launching()()
	if err := r.Writer.Settle(ctx, r.Live); err != nil {
		return err
	}
	s := r.Snapshot()
	pool := s.Pool(np.Name)
	if pool == nil {
		return nil
	}
	launch, remove, short := static.Staff(s, pool, disruption.Replacing(s), limit.New(s))
	if short != nil {
		r.Writer.Event(apply.Event{Object: np, Warning: true, Reason: apply.ReplicasMissing, Message: short.String()})
	}
	var errs []error
	for i := range launch {
		claim := provision.Claim(np, &launch[i])
		claim.Name = claim.GenerateName + rand.String(5)
		errs = append(errs, r.Writer.CreateClaim(ctx, claim, r.Created(ctx, metrics.Provisioned)))
	}
	for _, n := range remove {
		if claim, ok := r.Store.NodeClaim(n.Claim.Name); ok {
			_, err := r.Writer.Delete(ctx, claim)
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("keeping it at %d machines: %w", *np.Spec.Replicas, err)
	}
	return nil
}
