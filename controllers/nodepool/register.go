package nodepool

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// gather is how long a pool waits after an event of one of its claims, so that
// hundreds of machines that start together are counted together.
const gather = time.Second

// Add registers the loop: it runs for every pool that is created or changed, for the pool of
// every claim that changes, and for the pools of every node class that does.
func Add(mgr manager.Manager, d loop.Deps) error {
	r := New(d, mgr.GetRESTMapper())
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	b := builder.ControllerManagedBy(mgr).
		Named("nodepool").
		For(&karpv1.NodePool{}, builder.WithPredicates(changed)).
		Watches(&karpv1.NodeClaim{}, r.claimEvents()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10, RateLimiter: loop.Punctual()})
	for _, of := range d.Settings.ManagedClasses {
		class, err := newClass(mgr.GetScheme(), of)
		if err != nil {
			return err
		}
		b = b.Watches(class, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, class client.Object) []reconcile.Request {
			return r.poolsOf(ctx, snapshot.ClassRef{Group: of.Group, Kind: of.Kind, Name: class.GetName()})
		}))
	}
	return b.Complete(r)
}

// newClass makes an object of a kind of classes.
func newClass(kinds *runtime.Scheme, of snapshot.ClassRef) (client.Object, error) {
	kind := schema.GroupKind{Group: of.Group, Kind: of.Kind}
	for _, version := range kinds.VersionsForGroupKind(kind) {
		made, err := kinds.New(version.WithKind(of.Kind))
		if class, ok := made.(client.Object); ok && err == nil {
			return class, nil
		}
	}
	return nil, fmt.Errorf("watching node classes: %s is not registered", kind)
}

// poolsOf are the pools that refer to a class.
func (r *Reconciler) poolsOf(ctx context.Context, class snapshot.ClassRef) []reconcile.Request {
	var pools karpv1.NodePoolList
	if err := r.Client.List(ctx, &pools); err != nil {
		log.FromContext(ctx).Error(err, "listing the NodePools of a class", "class", class.Name)
		return nil
	}
	var out []reconcile.Request
	for i := range pools.Items {
		if cluster.ClassRef(pools.Items[i].Spec.Template.Spec.NodeClassRef) == class {
			out = append(out, loop.RequestFor(&pools.Items[i]))
		}
	}
	return out
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
