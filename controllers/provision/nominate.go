package provision

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/spread"
)

// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch

// Nominator tells kube-scheduler what the latest plan counts on, by nominating
// pods to the nodes of the plan. Wake may be called at any time from anywhere;
// Pass runs one at a time.
//
// It has a loop of its own: what a node's pods are must be known before the node
// takes pods, and a plan or a launch that takes long must not stand in the way.
type Nominator struct {
	loop.Deps
	wake chan struct{}
	// silent is set once it has been said that nominations are not permitted.
	silent atomic.Bool
}

func newNominator(d loop.Deps) *Nominator {
	return &Nominator{Deps: d, wake: make(chan struct{}, 1)}
}

// Wake asks for a pass.
func (n *Nominator) Wake() {
	select {
	case n.wake <- struct{}{}:
	default: // a pass is due anyway
	}
}

// Start runs passes until the context ends.
func (n *Nominator) Start(ctx context.Context) error {
	var due time.Time
	for ctx.Err() == nil {
		timer, stop := n.At(due)
		select {
		case <-ctx.Done():
		case <-n.wake:
			due = n.Pass(ctx)
		case <-timer:
			due = n.Pass(ctx)
		}
		stop()
	}
	return nil
}

// NeedLeaderElection makes the loop run on the leader only.
func (*Nominator) NeedLeaderElection() bool { return true }

// Pass writes the first nominations that are not what they should be, [nomination.Few] at most:
// beside a busy kube-scheduler that takes about a second, in which Nodes open and pods are bound
// that others need no nominations beside. It returns when the next pass is due if nothing wakes
// the loop, zero for never; it is due at once if there are more. Nominations are hints: one that
// cannot be written is left to the next pass.
func (n *Nominator) Pass(ctx context.Context) time.Time {
	if !n.Store.Synced() {
		return time.Time{}
	}
	ctx = metrics.WithController(ctx, Name)
	s := n.Store.Snapshot(n.Clock.Now(), nil)
	changes := nomination.Decide(s)
	more := len(changes) > nomination.Few
	changes = changes[:min(len(changes), nomination.Few)]
	errs := make([]error, len(changes))
	loop.SideBySide(len(changes), func(i int) {
		errs[i] = n.Writer.Pod(ctx, changes[i].Pod.Pod, changes[i].Apply)
	})
	n.report(ctx, errs)
	if more && slices.Contains(errs, nil) {
		n.Wake()
	}
	return nomination.Due(s)
}

// report sorts out what went wrong. A pod that is gone, or that has changed
// since it was read, comes back with an event if it still waits.
func (n *Nominator) report(ctx context.Context, errs []error) {
	var rest []error
	for _, err := range errs {
		switch {
		case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
			if n.silent.CompareAndSwap(false, true) {
				log.FromContext(ctx).Info("nominating pods, or admitting them to Nodes that take planned pods first, is not permitted, so kube-scheduler may spread them differently from the plan", "error", err.Error())
			}
		default:
			rest = append(rest, err)
		}
	}
	if err := errors.Join(rest...); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "nominating pods")
	}
}

// notYet is how soon to look again whether the store has heard of what wakes the loop. Both hear of
// it from the same informer, in any order.
const notYet = 5 * time.Millisecond

// watch wakes the loop when a Node appears, changes or goes, when kube-scheduler has
// found no node for a pod and has taken its nomination away, and when one of those pods that
// are nominated in turn waits no longer.
func (n *Nominator) watch(mgr manager.Manager) error {
	awake := func(blank client.Object) reconcile.Reconciler {
		return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			obj := blank.DeepCopyObject().(client.Object)
			if err := mgr.GetClient().Get(ctx, req.NamespacedName, obj); err == nil && !n.Store.Has(obj) {
				return reconcile.Result{RequeueAfter: notYet}, nil
			}
			n.Wake()
			return reconcile.Result{}, nil
		})
	}
	return errors.Join(
		builder.ControllerManagedBy(mgr).Named("provisioner.nominate.node").
			For(&corev1.Node{}).Complete(awake(&corev1.Node{})),
		builder.ControllerManagedBy(mgr).Named("provisioner.nominate.pod").
			For(&corev1.Pod{}, builder.WithPredicates(renominated(n.Settings.Spread))).Complete(awake(&corev1.Pod{})),
	)
}

// renominated lets through what changes the nomination of a pod that waits, and the end of
// the waiting of a nominated pod if that is another one's turn.
func renominated(byDefault spread.Defaults) predicate.Predicate {
	takesTurns := func(obj client.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && nomination.TakesTurns(pod, byDefault)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool { return nominee(e.Object) != "" && takesTurns(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return nominee(e.ObjectOld) != nominee(e.ObjectNew) && (waiting(e.ObjectNew) || takesTurns(e.ObjectNew))
		},
	}
}

// nominee is the node that a pod is nominated to while it waits, empty otherwise.
func nominee(obj client.Object) string {
	if !waiting(obj) {
		return ""
	}
	return obj.(*corev1.Pod).Status.NominatedNodeName
}

func waiting(obj client.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && cluster.Waits(pod)
}
