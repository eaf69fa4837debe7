package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/controllers/termination"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=resource.k8s.io,resources=resourceslices,verbs=list
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// name is the controller's, in logs and metrics.
const name = "nodeclaim.lifecycle"

// launches is how many claims are launched at once, and workers how many are served: a launch
// takes seconds, or minutes where the cloud limits their rate, and machines that are there must
// not wait for it. A claim that finds all launches taken asks again after busy.
const (
	launches = 100
	workers  = 2 * launches
	busy     = 300 * time.Millisecond
)

// Reconciler serves one claim at a time; it is safe for concurrent use.
type Reconciler struct {
	deps loop.Deps
	// launching has an element for every claim that is being decided upon and launched.
	launching chan struct{}
	holds     *holds
	// failing are the claims whose launches fail.
	failing  *loop.Attempts
	removals *termination.Claims
}

// New makes a Reconciler.
func New(d loop.Deps) *Reconciler {
	return &Reconciler{
		deps: d, launching: make(chan struct{}, launches), holds: newHolds(),
		failing:  d.Attempts("a launch failed and is tried again", launchAgainLeast, launchAgainMost),
		removals: termination.NewClaims(d),
	}
}

// Add registers the loop: it runs for every claim that changes, for the claims of
// every Node that changes or is kept from taking pods no longer, and for machines that are not initialized yet when
// what they may wait for changes: storage drivers, pods of DaemonSets, policies.
func Add(mgr manager.Manager, d loop.Deps) error {
	r := New(d)
	return builder.ControllerManagedBy(mgr).
		Named(name).
		For(&karpv1.NodeClaim{}).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.claimsOf)).
		Watches(&storagev1.CSINode{}, handler.EnqueueRequestsFromMapFunc(r.startingOn)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.startingOn), builder.WithPredicates(daemonReadiness())).
		Watches(&v1alpha1.NodePolicy{}, handler.EnqueueRequestsFromMapFunc(r.starting), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Channel(r.holds.released, &handler.TypedEnqueueRequestForObject[*karpv1.NodeClaim]{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: loop.Backoff(time.Second, time.Minute)}).
		Complete(r)
}

func (r *Reconciler) claimsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return nil
	}
	claims, err := r.deps.ClaimsOf(ctx, node.Spec.ProviderID)
	if err != nil {
		return nil // the cache answers or is not there yet
	}
	out := make([]reconcile.Request, 0, len(claims))
	for _, c := range claims {
		out = append(out, loop.RequestFor(c))
	}
	return out
}

// Reconcile takes a claim one step further.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim, err := r.deps.Claim(ctx, req.Name)
	if err != nil || claim.DeletionTimestamp != nil || cluster.Claim(claim).Is(snapshot.Launched) {
		r.failing.Forget(req)
	}
	if err != nil {
		r.removals.Forget(req)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !r.deps.Manages(cluster.ClassRef(claim.Spec.NodeClassRef)) {
		return reconcile.Result{}, nil
	}
	ctx = metrics.WithController(ctx, name)
	if claim.DeletionTimestamp != nil {
		return loop.Outcome(r.removals.Remove(ctx, claim))
	}
	if !cluster.Claim(claim).Is(snapshot.Launched) {
		select {
		case r.launching <- struct{}{}:
			defer func() { <-r.launching }()
		default:
			return reconcile.Result{RequeueAfter: busy}, nil // before anything is decided: hundreds may ask
		}
	}
	result, err := r.advance(ctx, claim)
	switch {
	case errors.Is(err, errNotSynced): // a normal start
		return reconcile.Result{RequeueAfter: time.Second}, nil
	case errors.Is(err, errNotHeld):
		return reconcile.Result{RequeueAfter: holdPoll}, nil
	}
	return loop.Outcome(result, err)
}

// advance takes a claim that is not being deleted one step further.
func (r *Reconciler) advance(ctx context.Context, claim *karpv1.NodeClaim) (reconcile.Result, error) {
	claim, err := r.deps.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		if !slices.Contains(c.Finalizers, lifecycle.Finalizer) {
			c.Finalizers = append(c.Finalizers, lifecycle.Finalizer)
		}
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	view, err := r.view(ctx, claim)
	if err != nil && view.Claim.Is(snapshot.Launched) {
		return reconcile.Result{}, err
	}
	step := lifecycle.Decide(view)
	if step.Search {
		if done, result, err := r.recall(ctx, claim, view.Types); done {
			return result, err
		}
	}
	switch {
	case err != nil && step.Delete != lifecycle.LaunchTimedOut:
		return r.unlaunched(ctx, claim, err)
	case step.Delete == lifecycle.NodeLost, step.Delete == lifecycle.MachineEnded:
		return r.lost(ctx, claim, step)
	case step.Delete != "":
		return reconcile.Result{}, r.abandon(ctx, claim, step)
	case step.Launch != nil:
		return r.launch(ctx, claim, step.Launch, view.Types)
	}
	if err := r.carryOut(ctx, claim, view, step); err != nil {
		return reconcile.Result{}, err
	}
	result := loop.Until(view.Now, step.Wake)
	if !view.Claim.Is(snapshot.Initialized) && (result.RequeueAfter == 0 || result.RequeueAfter > refresh) {
		result.RequeueAfter = refresh
	}
	return result, nil
}

// view reads what the engine needs to know about a claim.
func (r *Reconciler) view(ctx context.Context, claim *karpv1.NodeClaim) (lifecycle.View, error) {
	now := r.deps.Clock.Now()
	v := lifecycle.View{Now: now, Claim: cluster.Claim(claim)}
	v.Policy, v.Learned = r.deps.Store.Policy(v.Claim.Pool).Initialization, r.deps.Store.Learned(v.Claim.Pool)
	var err error
	if !v.Claim.Is(snapshot.Launched) {
		refused := r.deps.Store.Refused(now)
		v.Refused = func(k catalog.Key) bool { _, ok := refused[k]; return ok }
		types, err := r.deps.Types(v.Claim.Class)
		v.Types = r.deps.Store.Types(v.Claim.Pool, types)
		return v, err
	}
	nodes, err := r.deps.NodesOf(ctx, v.Claim.ProviderID)
	if err != nil {
		return v, err
	}
	v.Nodes, v.Foreign = v.Claim.Own(nodes)
	if len(v.Nodes) == 1 && v.Starting() {
		if err := r.addAgents(ctx, &v); err != nil {
			return v, err
		}
	}
	if len(v.Nodes) == 1 && v.Nodes[0].Labels[lifecycle.RegisteredLabel] != "true" {
		var known bool
		if v.Hold, v.HoldPoll, known = r.holds.of(r.deps.Clock, r.deps.Store, v.Claim.Name, v.Nodes[0]); !known {
			return v, errNotHeld
		}
	}
	if v.PlannedFirst() {
		v.Awaited = nomination.Awaited(r.deps.Store.Snapshot(now, nil), v.Claim)
	}
	if lifecycle.AwaitsDevices(v.Claim) && len(v.Nodes) == 1 {
		v.Slices, err = r.slices(ctx, v.Nodes[0].Name)
	}
	return v, err
}

// slices asks the API server, not the cache: few clusters have any.
func (r *Reconciler) slices(ctx context.Context, node string) ([]*resourcev1.ResourceSlice, error) {
	var list resourcev1.ResourceSliceList
	if err := r.deps.Live.List(ctx, &list, client.MatchingFields{resourcev1.ResourceSliceSelectorNodeName: node}); err != nil {
		return nil, fmt.Errorf("listing ResourceSlices of %s: %w", node, err)
	}
	out := make([]*resourcev1.ResourceSlice, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// carryOut writes the Node first, then the claim, so that a condition is never
// ahead of what it says.
func (r *Reconciler) carryOut(ctx context.Context, claim *karpv1.NodeClaim, v lifecycle.View, step lifecycle.Step) error {
	r.tellOverdue(claim, step)
	r.tellForeign(claim, v)
	if step.UntaintedNode {
		r.deps.Writer.Event(apply.Event{
			Object: claim, Warning: true, Reason: apply.UnregisteredTaintMissing,
			Message: fmt.Sprintf("Node %s joined without the taint %s; pods may run on it before it is ready", v.Nodes[0].Name, lifecycle.Unregistered.ToString()),
		})
	}
	if step.Node != nil {
		if _, err := r.deps.Writer.Node(ctx, v.Nodes[0], step.Node.Apply); err != nil {
			return errors.Join(err, r.unregistered(ctx, claim, v, err))
		}
	}
	r.tellRemoved(v, step)
	after, err := r.deps.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		if step.NodeName != "" {
			c.Status.NodeName = step.NodeName
		}
		annotate(c, step)
		r.deps.SetConditions(c, step.Conditions)
	})
	if err != nil {
		return err
	}
	if !v.Claim.Is(snapshot.Registered) && after.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) {
		r.deps.Metrics.NodeCreated(v.Claim.Pool)
	}
	r.tellRebooted(v, step, after)
	r.logProgress(ctx, v, after)
	return nil
}

func annotate(c *karpv1.NodeClaim, step lifecycle.Step) {
	for key, value := range step.Annotations {
		if metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value); value == "" {
			delete(c.Annotations, key)
		}
	}
}

// tellRebooted says that a Node has booted, and counts the end of its reboot.
func (r *Reconciler) tellRebooted(v lifecycle.View, step lifecycle.Step, claim *karpv1.NodeClaim) {
	if step.Node != nil && slices.Contains(step.Node.RemoveTaints, lifecycle.Rebooting) && v.Booted() {
		r.deps.Writer.Event(apply.Event{Object: claim, Reason: apply.RebootObserved, Message: "the Node has booted"})
	}
	i := slices.IndexFunc(step.Conditions, func(c plan.Condition) bool { return c.Type == snapshot.Rebooting })
	if i < 0 {
		return
	}
	result := metrics.RebootSucceeded
	if end := step.Conditions[i]; end.Reason == lifecycle.RebootFailed {
		result = metrics.RebootRecoveryTimeout
		r.deps.Writer.Event(apply.Event{Object: claim, Warning: true, Reason: apply.RebootFailed, Message: end.Message})
	}
	r.deps.Metrics.Rebooted(result, v.Now.Sub(v.Claim.Conditions[snapshot.Rebooting].Since), v.Now.Sub(v.IssuedAt()))
}

// unregistered records on a claim that the API server refuses to have its Node registered.
func (r *Reconciler) unregistered(ctx context.Context, claim *karpv1.NodeClaim, v lifecycle.View, cause error) error {
	if v.Claim.Is(snapshot.Registered) || !apply.Refused(cause) {
		return nil
	}
	_, err := r.deps.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		c.StatusConditions(status.WithClock(r.deps.Clock)).SetUnknownWithReason(karpv1.ConditionTypeRegistered, string(plan.RegistrationPending), clip(cause.Error()))
	})
	return err
}

// tellForeign warns of Nodes that carry the provider ID of the claim's machine.
func (r *Reconciler) tellForeign(claim *karpv1.NodeClaim, v lifecycle.View) {
	reason, found := v.DuplicateNodes()
	if !found {
		return
	}
	event := apply.Event{Object: claim, Warning: true, Reason: string(reason.Code), Message: reason.Message()}
	r.deps.Writer.Event(event)
	for _, n := range v.Foreign {
		event.Object = n
		r.deps.Writer.Event(event)
	}
}

// tellRemoved says that a taint which the cloud controller left behind was removed.
func (r *Reconciler) tellRemoved(v lifecycle.View, step lifecycle.Step) {
	if step.Node == nil || !slices.Contains(step.Node.RemoveTaints, lifecycle.Uninitialized) {
		return
	}
	r.deps.Writer.Event(apply.Event{
		Object: v.Nodes[0], Reason: apply.StaleTaintRemoved,
		Message: fmt.Sprintf("removed taint %s: the cloud controller manager has done its work here (provider ID, addresses and zone are set) and left it behind for %s", lifecycle.Uninitialized.ToString(), v.Policy.Defaulted().StaleGrace),
	})
}

// logProgress logs what a claim has just reached.
func (r *Reconciler) logProgress(ctx context.Context, before lifecycle.View, after *karpv1.NodeClaim) {
	for _, reached := range []struct{ condition, message string }{
		{snapshot.Registered, loop.LoggedRegistered}, {snapshot.Initialized, loop.LoggedInitialized},
	} {
		if !before.Claim.Is(reached.condition) && after.StatusConditions().IsTrue(reached.condition) {
			log.FromContext(ctx).Info(reached.message, append(r.deps.MachineKeys(after), "age", before.Now.Sub(before.Claim.Created).Round(time.Second))...)
		}
	}
}

// lost gives up a claim whose Node is gone, unless the cache has just not seen it.
// A Node of its name that is another machine's does not count.
func (r *Reconciler) lost(ctx context.Context, claim *karpv1.NodeClaim, step lifecycle.Step) (reconcile.Result, error) {
	var node corev1.Node
	err := r.deps.Live.Get(ctx, client.ObjectKey{Name: claim.Status.NodeName}, &node)
	switch {
	case err == nil && node.Spec.ProviderID == claim.Status.ProviderID:
		return reconcile.Result{RequeueAfter: time.Second}, nil
	case client.IgnoreNotFound(err) != nil:
		return reconcile.Result{}, fmt.Errorf("looking for Node %s: %w", claim.Status.NodeName, err)
	}
	return reconcile.Result{}, r.giveUp(ctx, claim, step.Delete, step.Blocked())
}
