package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// refresh is how often a machine that is not initialized is looked at without an
// event: what it waits for may depend on what is not watched, and what its claim
// says must not be older than a minute.
const refresh = 30 * time.Second

// repeatOverdue is how often the owner of a machine that is overdue is told.
const repeatOverdue = 15 * time.Minute

var errNotSynced = errors.New("the cluster's state is not complete yet")

// addAgents adds to a view what the agents on the Node depend on: its pods, those
// that are planned for it, its CSINode, and the cluster's DaemonSets and volumes.
// What an event may have been about comes from the cache, which has it by then;
// the store may hear of it a moment later.
func (r *Reconciler) addAgents(ctx context.Context, v *lifecycle.View) error {
	if !r.deps.Store.Synced() {
		return errNotSynced
	}
	node := v.Nodes[0].Name
	var pods corev1.PodList
	if err := r.deps.Client.List(ctx, &pods, client.MatchingFields{loop.PodNode: node}); err != nil {
		return fmt.Errorf("listing pods of Node %s: %w", node, err)
	}
	v.Pods = r.deps.Store.Planned(v.Claim.Name)
	var classes snapshot.Classes
	for i := range pods.Items {
		v.Pods = append(v.Pods, classes.Pod(&pods.Items[i]))
	}
	var csi storagev1.CSINode
	err := r.deps.Client.Get(ctx, client.ObjectKey{Name: node}, &csi)
	switch {
	case err == nil:
		v.CSINode = &csi
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading CSINode %s: %w", node, err)
	}
	v.Volumes, v.DaemonSets = r.deps.Store.Agents()
	return nil
}

// startingOn are the claims that are not initialized of the Node that an object is
// about: a pod, or a CSINode of its name.
func (r *Reconciler) startingOn(ctx context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetName()
	if pod, ok := obj.(*corev1.Pod); ok {
		name = pod.Spec.NodeName
	}
	node := &corev1.Node{}
	if err := r.deps.Client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return nil // its own event will come
	}
	if node.Labels[lifecycle.InitializedLabel] == "true" {
		return nil
	}
	return r.claimsOf(ctx, node)
}

// starting are all claims that are not initialized.
func (r *Reconciler) starting(ctx context.Context, _ client.Object) []reconcile.Request {
	var list karpv1.NodeClaimList
	if err := r.deps.Client.List(ctx, &list); err != nil {
		return nil // the cache answers or is not there yet
	}
	var out []reconcile.Request
	for i := range list.Items {
		if !list.Items[i].StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue() {
			out = append(out, loop.RequestFor(&list.Items[i]))
		}
	}
	return out
}

// daemonReadiness lets through pods of DaemonSets that become Ready, or cease to
// be.
func daemonReadiness() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(e event.DeleteEvent) bool { return ofDaemonSet(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return ofDaemonSet(e.ObjectNew) && podReady(e.ObjectOld) != podReady(e.ObjectNew)
		},
	}
}

func ofDaemonSet(obj client.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && pod.Spec.NodeName != "" && eviction.Daemon(pod)
}

func podReady(obj client.Object) corev1.ConditionStatus {
	if pod, ok := obj.(*corev1.Pod); ok {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady {
				return c.Status
			}
		}
	}
	return corev1.ConditionUnknown
}

// tellOverdue publishes what has been waited for too long, under the reason that
// the claim's condition has.
func (r *Reconciler) tellOverdue(claim *karpv1.NodeClaim, step lifecycle.Step) {
	if step.Overdue == nil {
		return
	}
	r.deps.Writer.Event(apply.Event{
		Object: claim, Warning: true, Reason: string(step.Overdue.Reason.Code), Window: repeatOverdue,
		Message: fmt.Sprintf("NodeClaim %s is overdue: %s", claim.Name, step.Overdue.Reason.Message()),
	})
}
