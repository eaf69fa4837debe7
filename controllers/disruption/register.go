package disruption

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/disruption/idle"
)

// Add registers the loop of passes and, unless this is an observer, the recording of
// pod events.
func Add(mgr manager.Manager, d loop.Deps) error {
	if err := addPasses(mgr, New(d, disruption.Options{
		Placement: d.Settings.Placement, TerminateFirstDrift: d.Settings.TerminateFirstDrift, PodDeletionCosts: d.Settings.PodDeletionCosts,
	})); err != nil {
		return err
	}
	if d.Settings.Observe {
		return nil
	}
	return addPodEvents(mgr, &PodEvents{d})
}

// addPasses runs passes, one at a time: after changes of claims and pools, and
// when the last one asked for it.
func addPasses(mgr manager.Manager, d *Disruptor) error {
	all := reconcile.Request{NamespacedName: types.NamespacedName{Name: "all"}}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	trigger := handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { q.AddAfter(all, d.gather()) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { q.AddAfter(all, d.gather()) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { q.AddAfter(all, d.gather()) },
	}
	return builder.ControllerManagedBy(mgr).
		Named("disruption").
		Watches(&karpv1.NodeClaim{}, trigger).
		Watches(&karpv1.NodePool{}, trigger).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: loop.Punctual()}).
		Complete(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			wait, err := d.Pass(ctx)
			if err != nil {
				return reconcile.Result{}, err
			}
			return reconcile.Result{RequeueAfter: wait}, nil
		}))
}

// addPodEvents turns what happens to pods into events of their nodes.
func addPodEvents(mgr manager.Manager, p *PodEvents) error {
	type queue = workqueue.TypedRateLimitingInterface[idle.Event]
	note := func(pod *corev1.Pod, q queue, when func(*corev1.Pod, time.Time) (idle.Event, bool)) {
		if e, counts := when(pod, p.Clock.Now()); counts {
			q.Add(e)
		}
	}
	events := handler.TypedFuncs[*corev1.Pod, idle.Event]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) { note(e.Object, q, idle.Last) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) {
			note(e.ObjectNew, q, idle.Last)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) { note(e.Object, q, idle.Gone) },
	}
	return builder.TypedControllerManagedBy[idle.Event](mgr).
		Named("nodeclaim.podevents").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &corev1.Pod{}, handler.TypedEventHandler[*corev1.Pod, idle.Event](events))).
		WithOptions(controller.TypedOptions[idle.Event]{MaxConcurrentReconciles: 10}).
		Complete(p)
}
