package kubelet

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// How often a lease is renewed, and the duration it promises.
const (
	heartbeat     = 10 * time.Second
	fastHeartbeat = 1500 * time.Millisecond
	leaseDuration = 40 * time.Second
)

// renewLease is one heartbeat. The machine remembers the lease as last written,
// which saves reading it; whatever does not fit is read anew at the next try.
func (k *Kubelets) renewLease(ctx context.Context, node *corev1.Node, m *machine, now time.Time) error {
	client, err := k.Nodes(node.Name)
	if err != nil {
		return err
	}
	leases := client.Coordination.Leases(corev1.NamespaceNodeLease)
	lease := m.lease
	m.lease = nil
	if lease == nil {
		found, err := leases.Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil && !errors.IsNotFound(err) {
			return fmt.Errorf("reading lease of %s: %w", node.Name, err)
		}
		lease = found
		if err != nil {
			lease = nil
		}
	}
	renewed := leaseOf(node, lease, now)
	if lease == nil {
		renewed, err = leases.Create(ctx, renewed, metav1.CreateOptions{})
	} else {
		renewed, err = leases.Update(ctx, renewed, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renewing lease of %s: %w", node.Name, err)
	}
	m.lease = renewed
	m.leaseDue = now.Add(k.heartbeat())
	return nil
}

func (k *Kubelets) heartbeat() time.Duration {
	if k.FastHeartbeat {
		return fastHeartbeat
	}
	return heartbeat
}

// leaseOf is the lease of a node renewed now, based on its present one, if any.
// The node owns it, so that it goes with the node.
func leaseOf(node *corev1.Node, present *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node.Name, Namespace: corev1.NamespaceNodeLease}}
	if present != nil {
		lease = present.DeepCopy()
	}
	lease.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID,
	}}
	lease.Spec.HolderIdentity = ptr.To(node.Name)
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(leaseDuration / time.Second))
	lease.Spec.RenewTime = &metav1.MicroTime{Time: now}
	return lease
}
