package disruption

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/eviction"
)

// resolution is how much later than the recorded one a pod event must be to be
// recorded: hundreds of pods that start together are one write.
const resolution = 10 * time.Second

// podEvent says that a pod came to a node or left it, and when, in seconds since
// 1970.
type podEvent struct {
	Node string
	At   int64
	// Job is true for a pod of a Job, which by policy may not count.
	Job bool
}

// PodEvents records on each claim when a pod last came to its node or left it.
type PodEvents struct{ loop.Deps }

// Reconcile records one event. Its time is that of the pod, not of the moment at
// which it is seen: after a restart, or a gap in a watch, the same events give
// the same times, and no machine's consolidateAfter begins anew.
func (p *PodEvents) Reconcile(ctx context.Context, e podEvent) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := p.Client.Get(ctx, types.NamespacedName{Name: e.Node}, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	claim, ok := p.Store.NodeClaim(claimOf(node))
	at := metav1.Unix(e.At, 0)
	if !ok || claim.DeletionTimestamp != nil || at.Sub(claim.Status.LastPodEventTime.Time) < resolution {
		return reconcile.Result{}, nil
	}
	if e.Job && p.Store.Policy(claim.Labels[karpv1.NodePoolLabelKey]).Disruption.IgnoreJobs {
		return reconcile.Result{}, nil
	}
	_, err := p.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) { nc.Status.LastPodEventTime = at })
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

// lastEvent is when a pod last came to its node or left it, as far as the pod
// itself tells and not after now; false for pods that do not count: those
// without a node, and those that a node brings along.
func lastEvent(p *corev1.Pod, now time.Time) (podEvent, bool) {
	if p.Spec.NodeName == "" || eviction.Daemon(p) || eviction.Mirror(p) {
		return podEvent{}, false
	}
	at := bound(p)
	if eviction.Terminal(p) {
		at = later(at, ended(p))
	}
	if p.DeletionTimestamp != nil {
		at = later(at, told(p))
	}
	if at.IsZero() || at.After(now) {
		at = now
	}
	return podEvent{p.Spec.NodeName, at.Unix(), ofJob(p)}, true
}

func ofJob(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.APIVersion == "batch/v1" && o.Kind == "Job" })
}

// bound is when kube-scheduler gave a pod its node.
func bound(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	if p.Status.StartTime != nil {
		return p.Status.StartTime.Time
	}
	return p.CreationTimestamp.Time
}

// ended is when the last container of a pod did, or, where the containers do not
// say, when one of its conditions last changed.
func ended(p *corev1.Pod) time.Time {
	var at time.Time
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			at = later(at, t.FinishedAt.Time)
		}
	}
	if !at.IsZero() {
		return at
	}
	for _, c := range p.Status.Conditions {
		at = later(at, c.LastTransitionTime.Time)
	}
	return at
}

// told is when the deletion of a pod was asked for.
func told(p *corev1.Pod) time.Time {
	grace := int64(0)
	if p.DeletionGracePeriodSeconds != nil {
		grace = *p.DeletionGracePeriodSeconds
	}
	return p.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
