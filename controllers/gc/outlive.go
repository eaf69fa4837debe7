package gc

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// outliving gives the labels of on-demand machines to the Nodes and claims of those whose capacity
// reservation has ended, as Karpenter does: they are paid for from then on.
func (c *Collector) outliving(ctx context.Context, instances []cloud.Instance, claims []karpv1.NodeClaim) error {
	reserver, ok := cloud.As[cloud.Reserver](c.deps.Provider)
	if !ok {
		return nil
	}
	relabel := func(labels map[string]string) {
		labels[catalog.CapacityTypeLabel] = catalog.OnDemand
		for _, key := range reserver.ReservationLabels() {
			delete(labels, key)
		}
	}
	onDemand := map[string]bool{}
	for _, i := range instances {
		onDemand[i.ProviderID] = i.CapacityType == catalog.OnDemand
	}
	// One that has not registered may be shown before its reservation is.
	return c.each(claims, onDemand, func(claim *karpv1.NodeClaim) error {
		if claim.Labels[catalog.CapacityTypeLabel] != catalog.Reserved {
			return nil
		}
		return c.outlived(ctx, claim, relabel)
	})
}

// outlived relabels the claim of a machine, after its Node.
func (c *Collector) outlived(ctx context.Context, claim *karpv1.NodeClaim, relabel func(map[string]string)) error {
	nodes, err := c.deps.NodesOf(ctx, claim.Status.ProviderID)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Labels[catalog.CapacityTypeLabel] != catalog.Reserved {
			continue
		}
		if _, err := c.deps.Writer.Node(ctx, n, func(n *corev1.Node) { relabel(n.Labels) }); err != nil {
			return err
		}
	}
	_, err = c.deps.Writer.Claim(ctx, claim, func(claim *karpv1.NodeClaim) { relabel(claim.Labels) })
	return err
}
