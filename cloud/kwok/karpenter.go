package kwok

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// recordless reports whether a Node is a machine that Karpenter's KWOK provider has launched.
// That one keeps no records: its machines are there as long as their Nodes.
func recordless(n *corev1.Node) bool {
	return n.Labels[kwokLabel] == kwokFake && n.Annotations[MachineAnnotation] == "" && n.Labels[snapshot.PoolLabel] != "" && n.Spec.ProviderID == providerScheme+n.Name
}

// recordlessInstance is such a machine in the port's words. Its claim's name is in its host
// name; the UID, by which our own launches are told apart, is not on it.
func recordlessInstance(n *corev1.Node) cloud.Instance {
	return cloud.Instance{
		ProviderID: n.Spec.ProviderID,
		Claim:      n.Labels[corev1.LabelHostname], Pool: n.Labels[snapshot.PoolLabel],
		Type: n.Labels[corev1.LabelInstanceTypeStable], Zone: n.Labels[corev1.LabelTopologyZone], CapacityType: n.Labels[catalog.CapacityTypeLabel],
		State: cloud.Running, Launched: n.CreationTimestamp.Time,
		Labels: n.Labels, Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable,
	}
}

// findRecordless looks up the machine without a record of a provider ID; ErrNotFound if there
// is none.
func (p *Provider) findRecordless(ctx context.Context, providerID string) (*corev1.Node, error) {
	n := &corev1.Node{}
	name := strings.TrimPrefix(providerID, providerScheme)
	err := p.records.live.Get(ctx, client.ObjectKey{Name: name}, n)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading Node %s: %w", name, err)
	}
	if err != nil || n.Spec.ProviderID != providerID || !recordless(n) {
		return nil, fmt.Errorf("%s: %w", providerID, cloud.ErrNotFound)
	}
	return n, nil
}

// listRecordless describes every machine without a record.
func (p *Provider) listRecordless(ctx context.Context) ([]cloud.Instance, error) {
	var nodes corev1.NodeList
	if err := p.client.List(ctx, &nodes, client.MatchingLabels{kwokLabel: kwokFake}); err != nil {
		return nil, fmt.Errorf("listing Nodes: %w", err)
	}
	var out []cloud.Instance
	for i := range nodes.Items {
		if recordless(&nodes.Items[i]) {
			out = append(out, recordlessInstance(&nodes.Items[i]))
		}
	}
	return out, nil
}

// terminateRecordless ends a machine without a record: it is gone once its Node is being
// deleted.
func (p *Provider) terminateRecordless(ctx context.Context, providerID string) error {
	n, err := p.findRecordless(ctx, providerID)
	if err != nil {
		return err
	}
	if !n.DeletionTimestamp.IsZero() {
		return fmt.Errorf("%s: %w", providerID, cloud.ErrNotFound)
	}
	return p.deleteNode(ctx, n)
}
