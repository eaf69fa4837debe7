package interruption

import (
	"context"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/interruption/ledger"
)

const name = "interruption"

// Listening is how often the source is asked, from its memory, whether what stands
// has changed. Of a spot machine's two minutes this is what hearing may cost.
const Listening = time.Second

// gather is how long a look waits after a change in the cluster, so that changes
// that come together are judged together.
const gather = 200 * time.Millisecond

// all is the one request of the queue.
var all = reconcile.Request{NamespacedName: types.NamespacedName{Name: "all"}}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Add registers the loop, on the leader: looks come when what the cloud announces
// changes, when the cluster does while something is announced, and when the last
// one asked for it.
func Add(mgr manager.Manager, d loop.Deps) error {
	announced, listens := cloud.As[cloud.EventSource](d.Provider)
	w := New(d, announced)
	b := builder.ControllerManagedBy(mgr).
		Named(name).
		Watches(&v1alpha1.DisruptionRequest{}, w.trigger(always)).
		Watches(&karpv1.NodeClaim{}, w.trigger(onRecord)).
		Watches(&v1alpha1.NodePolicy{}, w.trigger(never)).
		Watches(&corev1.Node{}, w.trigger(never)).
		Watches(&corev1.Pod{}, w.trigger(never)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: loop.Punctual()})
	if d.Webhook != nil {
		if err := mgr.Add(w.teller); err != nil {
			return err
		}
	}
	if listens {
		heard := make(chan event.GenericEvent, 1)
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return w.listen(ctx, heard) })); err != nil {
			return err
		}
		b = b.WatchesRawSource(source.Channel(heard, w.trigger(always)))
	}
	return b.Complete(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		wait, err := w.Look(metrics.WithController(ctx, name))
		if err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{RequeueAfter: wait}, nil
	}))
}

// always, never and onRecord say which objects ask for a look although nothing stood at the
// last one.
func always(client.Object) bool     { return true }
func never(client.Object) bool      { return false }
func onRecord(o client.Object) bool { return o.GetAnnotations()[ledger.Annotation] != "" }

// trigger asks for a look after a change: of what asks for one anyway, and of anything
// as long as something stands that it may concern.
func (w *Watcher) trigger(asks func(client.Object) bool) handler.Funcs {
	soon := func(o client.Object, q queue) {
		if asks(o) || w.standing.Load() {
			q.AddAfter(all, gather)
		}
	}
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, e event.CreateEvent, q queue) { soon(e.Object, q) },
		UpdateFunc:  func(_ context.Context, e event.UpdateEvent, q queue) { soon(e.ObjectNew, q) },
		DeleteFunc:  func(_ context.Context, e event.DeleteEvent, q queue) { soon(e.Object, q) },
		GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) { soon(e.Object, q) },
	}
}

// listen asks for a look when what the cloud announces has changed.
func (w *Watcher) listen(ctx context.Context, heard chan<- event.GenericEvent) error {
	var last []cloud.Event
	return w.Every(metrics.WithController(ctx, name), 0, Listening, "listening to the cloud", func(ctx context.Context) error {
		events, err := w.source.Events(ctx)
		if err != nil || reflect.DeepEqual(events, last) {
			return err
		}
		select {
		case heard <- event.GenericEvent{Object: &karpv1.NodeClaim{}}:
			last = events
		default: // a look is asked for already; the next listening tells again
		}
		return nil
	})
}
