package gc

import (
	"context"
	"errors"
	"fmt"
	"maps"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// unmarked has the cloud write on machines to which claim they belong, where another
// controller that launched them has not come to it.
func (c *Collector) unmarked(ctx context.Context, instances []cloud.Instance, claims []karpv1.NodeClaim) error {
	marker, ok := cloud.As[cloud.Marker](c.deps.Provider)
	if !ok {
		return nil
	}
	nameless := map[string]bool{}
	for _, i := range instances {
		if i.Claim == "" {
			nameless[i.ProviderID] = true
		}
	}
	return c.each(claims, nameless, func(claim *karpv1.NodeClaim) error { return c.mark(ctx, marker, claim) })
}

// each does something for those of the claims whose machine is one of some, by provider ID, and
// has registered, and joins what failed.
func (c *Collector) each(claims []karpv1.NodeClaim, machines map[string]bool, do func(*karpv1.NodeClaim) error) error {
	var failed []error
	for i := range claims {
		claim := &claims[i]
		value := cluster.Claim(claim)
		if machines[claim.Status.ProviderID] && value.Is(snapshot.Registered) && claim.DeletionTimestamp == nil && c.deps.Manages(value.Class) {
			failed = append(failed, do(claim))
		}
	}
	return errors.Join(failed...)
}

func (c *Collector) mark(ctx context.Context, marker cloud.Marker, claim *karpv1.NodeClaim) error {
	annotations, err := marker.Mark(ctx, claim.Status.ProviderID, claim.Name, claim.Status.NodeName)
	if errors.Is(err, cloud.ErrNotFound) {
		return nil // it went meanwhile
	}
	if err != nil {
		return fmt.Errorf("writing on the machine of NodeClaim %s whose it is: %w", claim.Name, err)
	}
	_, err = c.deps.Writer.Claim(ctx, claim, func(changed *karpv1.NodeClaim) {
		if changed.Annotations == nil {
			changed.Annotations = map[string]string{}
		}
		maps.Copy(changed.Annotations, annotations)
	})
	return err
}
