package nodepool

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop"
)

// gather is how long a pool waits after an event of one of its claims, so that
// hundreds of machines that start together are counted together.
const gather = time.Second

// Add registers the loop: it runs for every pool that is created or changed, and
// for the pool of every claim that changes.
func Add(mgr manager.Manager, d loop.Deps) error {
	r := New(d, mgr.GetRESTMapper())
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return builder.ControllerManagedBy(mgr).
		Named("nodepool").
		For(&karpv1.NodePool{}, builder.WithPredicates(changed)).
		Watches(&karpv1.NodeClaim{}, r.claimEvents()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10, RateLimiter: loop.Punctual()}).
		Complete(r)
}

func (r *Reconciler) claimEvents() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(obj client.Object, q queue) {
		if nc, ok := obj.(*karpv1.NodeClaim); ok {
			r.health.Observe(nc)
			r.failed.observe(nc)
		}
		if pool := obj.GetLabels()[karpv1.NodePoolLabelKey]; pool != "" {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: pool}}, gather)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { enqueue(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			enqueue(e.Object, q)
			r.health.Forget(e.Object.GetUID())
		},
	}
}
