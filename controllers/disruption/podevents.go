package disruption

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/disruption/idle"
)

// PodEvents records on each claim when a pod last came to its node or left it.
type PodEvents struct{ loop.Deps }

// Reconcile records one event.
func (p *PodEvents) Reconcile(ctx context.Context, e idle.Event) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := p.Client.Get(ctx, types.NamespacedName{Name: e.Node}, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	claim, ok := p.Store.NodeClaim(claimOf(node))
	if !ok || claim.DeletionTimestamp != nil || !e.Counts(claim.Status.LastPodEventTime.Time, p.Store.Policy(claim.Labels[karpv1.NodePoolLabelKey]).Disruption) {
		return reconcile.Result{}, nil
	}
	at := time.Unix(e.At, 0)
	streak := idle.StreakOf(claim.Annotations).Next(claim.Status.LastPodEventTime.Time, at, p.consolidateAfter(ctx, claim))
	_, err := p.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
		nc.Status.LastPodEventTime = metav1.NewTime(at)
		if text := streak.String(); text != "" {
			metav1.SetMetaDataAnnotation(&nc.ObjectMeta, idle.StreakAnnotation, text)
		} else {
			delete(nc.Annotations, idle.StreakAnnotation)
		}
	})
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: retry}, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("recording a pod event on NodeClaim %s: %w", claim.Name, err)
	}
	return reconcile.Result{}, nil
}

// consolidateAfter is that of a claim's pool, nil if it never consolidates.
func (p *PodEvents) consolidateAfter(ctx context.Context, claim *karpv1.NodeClaim) *time.Duration {
	np := &karpv1.NodePool{}
	if err := p.Client.Get(ctx, types.NamespacedName{Name: claim.Labels[karpv1.NodePoolLabelKey]}, np); err != nil {
		return nil // gone, or not seen yet; the next event is noted
	}
	return np.Spec.Disruption.ConsolidateAfter.Duration
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
