package disruption

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/disruption/quiet"
)

// PodEvents records on each claim when a pod last came to its node or left it.
type PodEvents struct{ loop.Deps }

// Reconcile records one event.
func (p *PodEvents) Reconcile(ctx context.Context, e quiet.Event) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := p.Client.Get(ctx, types.NamespacedName{Name: e.Node}, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	claim, ok := p.Store.NodeClaim(claimOf(node))
	if !ok || claim.DeletionTimestamp != nil || !e.Counts(claim.Status.LastPodEventTime.Time, p.Store.Policy(claim.Labels[karpv1.NodePoolLabelKey]).Disruption) {
		return reconcile.Result{}, nil
	}
	_, err := p.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) { nc.Status.LastPodEventTime = metav1.Unix(e.At, 0) })
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: retry}, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("recording a pod event on NodeClaim %s: %w", claim.Name, err)
	}
	return reconcile.Result{}, nil
}

// claimOf is the name of the claim that owns a Node; registration writes it.
func claimOf(node *corev1.Node) string {
	for _, o := range node.OwnerReferences {
		if o.Kind == "NodeClaim" {
			return o.Name
		}
	}
	return ""
}
