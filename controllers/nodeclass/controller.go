package nodeclass

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

const name = "nodeclass"

// lookAgain is how often a class that is deleted is looked at while claims use it.
const lookAgain = 10 * time.Minute

// askAgain are the shortest and the longest pause between tries to work out a class for which the
// cloud does not answer, the latter the delay after it does.
const askAgainLeast, askAgainMost = time.Second, 15 * time.Second

// Reconciler serves one class at a time; it is safe for concurrent use on different ones.
type Reconciler struct {
	loop.Deps
	keeper  cloud.ClassKeeper
	kind    cloud.ClassKind
	failing *loop.Attempts
}

// New makes a Reconciler for the classes of a provider.
func New(d loop.Deps, keeper cloud.ClassKeeper) *Reconciler {
	return &Reconciler{d, keeper, keeper.ClassKind(), d.Attempts("the status of a class could not be worked out and is tried again", askAgainLeast, askAgainMost)}
}

// Add registers the loop, if the provider keeps the status of its classes: it runs for every
// class whose spec, annotations or deletion change, when it is time to look again, and for
// the class of every claim that goes or that the cloud does not launch.
func Add(mgr manager.Manager, d loop.Deps) error {
	keeper, ok := cloud.As[cloud.ClassKeeper](d.Provider)
	if !ok {
		return nil
	}
	r := New(d, keeper)
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return builder.ControllerManagedBy(mgr).
		Named(name).
		For(r.kind.New(), builder.WithPredicates(changed)).
		Watches(&karpv1.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(classOf), builder.WithPredicates(telling())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10, RateLimiter: loop.Backoff(askAgainLeast, askAgainMost)}).
		Complete(r)
}

func classOf(_ context.Context, obj client.Object) []reconcile.Request {
	claim, ok := obj.(*karpv1.NodeClaim)
	if !ok || claim.Spec.NodeClassRef == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}}}
}

// telling lets pass what a claim tells of its class: that it ends, and that its launch failed for
// another reason than before. Throttled calls are no better answered for more of them.
func telling() predicate.Predicate {
	p := predicate.NewPredicateFuncs(func(client.Object) bool { return false })
	p.DeleteFunc = nil
	p.UpdateFunc = func(e event.UpdateEvent) bool {
		after := failure(e.ObjectNew)
		return after != "" && after != cloud.Throttled && after != failure(e.ObjectOld)
	}
	return p
}

// failure is why a claim's launch has failed so far, in one word; empty if it has not.
func failure(obj client.Object) string {
	claim, ok := obj.(*karpv1.NodeClaim)
	if !ok {
		return ""
	}
	c := cluster.Claim(claim)
	if c.Is(snapshot.Launched) || lifecycle.Unlaunched(c).Code != plan.LaunchFailed {
		return ""
	}
	return c.Conditions[snapshot.Launched].Reason
}

// Reconcile looks at one class.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ctx = metrics.WithController(ctx, name)
	class := r.kind.New()
	if err := r.Client.Get(ctx, req.NamespacedName, class); err != nil {
		r.failing.Forget(req)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if class.GetDeletionTimestamp() != nil {
		return loop.Outcome(r.release(ctx, class))
	}
	again, err := r.keep(ctx, class)
	return loop.Outcome(reconcile.Result{RequeueAfter: again}, err)
}

// keep brings a class up to date.
func (r *Reconciler) keep(ctx context.Context, class cloud.Class) (again time.Duration, err error) {
	if fault := decode.Fault(class); fault != "" {
		_, err := r.Writer.Class(ctx, class, func(c client.Object) { refuse(c, fault) })
		return 0, err
	}
	held, err := r.Writer.Class(ctx, class, func(c client.Object) {
		if !slices.Contains(c.GetFinalizers(), r.kind.Finalizer) {
			c.SetFinalizers(append(c.GetFinalizers(), r.kind.Finalizer))
		}
	})
	if err != nil {
		return 0, err
	}
	if err := r.restamp(ctx, held); err != nil {
		return 0, err
	}
	var unresolved error
	now, err := r.Writer.Class(ctx, held, func(c client.Object) {
		r.stamp(c, r.keeper.Hash(c))
		again, unresolved = r.keeper.Resolve(ctx, c)
	})
	if err != nil {
		return 0, err
	}
	r.tell(held, now)
	if unresolved != nil {
		return r.failing.Failed(ctx, loop.RequestFor(class), unresolved, unresolved.Error()).RequeueAfter, nil
	}
	r.failing.Forget(loop.RequestFor(class))
	return again, nil
}

// invalid is the reason of a class whose spec cannot be used, in Karpenter's words.
const invalid = "InvalidSpec"

// tell publishes what the conditions of a class say is wrong since it was looked at last. Ready
// only repeats the others, and so does one that waits for them.
func (r *Reconciler) tell(before, now client.Object) {
	was, _ := before.(status.Object)
	is, ok := now.(status.Object)
	if !ok || was == nil {
		return
	}
	for _, c := range is.GetConditions() {
		if old := was.StatusConditions().Get(c.Type); c.Status != metav1.ConditionFalse || c.Type == status.ConditionReady || c.Reason == snapshot.DependenciesNotReady || old != nil && old.Status == c.Status && old.Reason == c.Reason {
			continue
		}
		r.Writer.Event(apply.Event{Object: now, Warning: true, Reason: c.Reason, Message: c.Type + ": " + c.Message, Dedupe: []string{c.Type}})
	}
}

// refuse says in a class's conditions what cannot be read of it. Its hash stays: what is left
// of its spec is no other spec.
func refuse(class client.Object, fault string) {
	if c, ok := class.(status.Object); ok {
		c.StatusConditions().SetFalse("ValidationSucceeded", invalid, fault)
	}
}

// stamp writes a hash, and how it was computed.
func (r *Reconciler) stamp(obj client.Object, hash string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[r.kind.HashKey], annotations[r.kind.VersionKey] = hash, r.kind.Version
	obj.SetAnnotations(annotations)
}

// restamp carries the claims of a class over to our way of computing its hash. A claim is
// taken to be of the class as it is now, unless it has already been found to have drifted: it
// keeps its hash, and stays drifted.
func (r *Reconciler) restamp(ctx context.Context, class cloud.Class) error {
	if class.GetAnnotations()[r.kind.VersionKey] == r.kind.Version {
		return nil
	}
	claims, err := r.claims(ctx, r.Client, class)
	if err != nil {
		return err
	}
	hash := r.keeper.Hash(class)
	for i := range claims {
		if claims[i].Annotations[r.kind.VersionKey] == r.kind.Version {
			continue
		}
		_, err := r.Writer.Claim(ctx, &claims[i], func(c *karpv1.NodeClaim) {
			before, had := c.Annotations[r.kind.HashKey]
			r.stamp(c, hash)
			if c.StatusConditions().Get(karpv1.ConditionTypeDrifted) != nil {
				if c.Annotations[r.kind.HashKey] = before; !had {
					delete(c.Annotations, r.kind.HashKey)
				}
			}
		})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("re-stamping the claims of %s: %w", class.GetName(), err)
		}
	}
	return nil
}

// claims are those that refer to a class.
func (r *Reconciler) claims(ctx context.Context, from client.Reader, class cloud.Class) ([]karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := from.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing NodeClaims: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(c karpv1.NodeClaim) bool {
		ref := cluster.ClassRef(c.Spec.NodeClassRef)
		return ref.Name != class.GetName() || !r.Manages(ref)
	}), nil
}

// release lets a class go that no claim refers to any more.
func (r *Reconciler) release(ctx context.Context, class cloud.Class) (reconcile.Result, error) {
	if !slices.Contains(class.GetFinalizers(), r.kind.Finalizer) {
		return reconcile.Result{}, nil
	}
	claims, err := r.claims(ctx, r.Live, class)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(claims) > 0 {
		r.Writer.Event(apply.Event{
			Object: class, Reason: apply.WaitingOnNodeClaimTermination,
			Message: fmt.Sprintf("Waiting on NodeClaim termination for %s%s", claims[0].Name, more(len(claims)-1)),
		})
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	}
	if err := r.keeper.Release(ctx, class); err != nil {
		return reconcile.Result{}, fmt.Errorf("deleting what was made for %s: %w", class.GetName(), err)
	}
	_, err = r.Writer.Class(ctx, class, func(c client.Object) {
		c.SetFinalizers(slices.DeleteFunc(c.GetFinalizers(), func(f string) bool { return f == r.kind.Finalizer }))
	})
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
