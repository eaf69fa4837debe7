package termination

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// gather is how long a drain waits after an event: an informer may tell of an
// object before the store has it, and events come together.
const gather = 100 * time.Millisecond

// wake makes drains look again when something that they may wait for changes.
func (r *Reconciler) wake() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(ctx context.Context, obj client.Object, q queue) {
		for _, request := range r.waiting(ctx, obj) {
			q.AddAfter(request, gather)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
	}
}

// waiting are the Nodes whose drain may wait for an object: for a pod, a Job or an
// attachment its own Node, for a budget all that are going.
func (r *Reconciler) waiting(ctx context.Context, obj client.Object) []reconcile.Request {
	var nodes corev1.NodeList
	if err := r.deps.Client.List(ctx, &nodes, client.MatchingFields{loop.NodeGoing: "true"}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing the Nodes that are going")
		return nil // they look again by themselves, only later
	}
	var out []reconcile.Request
	for i := range nodes.Items {
		if concerns(obj, nodes.Items[i].Name) {
			out = append(out, loop.RequestFor(&nodes.Items[i]))
		}
	}
	return out
}

func concerns(obj client.Object, node string) bool {
	switch o := obj.(type) {
	case *corev1.Pod:
		return o.Spec.NodeName == node
	case *storagev1.VolumeAttachment:
		return o.Spec.NodeName == node
	case *batchv1.Job:
		return o.Labels[snapshot.HookNodeLabel] == node
	case *policyv1.PodDisruptionBudget:
		return true
	}
	return false
}
