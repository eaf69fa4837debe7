package nodeoverlay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeoverlays;nodepools,verbs=list;watch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeoverlays/status,verbs=patch

// Reasons of ValidationSucceeded, as Karpenter has them.
const (
	reasonInvalid  = "RuntimeValidation"
	reasonConflict = "Conflict"
)

// refresh is after what time all are looked at again: a cloud may have new instance types.
const refresh = 5 * time.Minute

// all is the one request of the queue.
var all = reconcile.Request{NamespacedName: client.ObjectKey{Name: "all"}}

// Reconciler writes the conditions of all overlays at once.
type Reconciler struct{ loop.Deps }

// New makes a Reconciler.
func New(d loop.Deps) *Reconciler { return &Reconciler{d} }

// Add registers the loop, if NodeOverlays count at all.
func Add(mgr manager.Manager, d loop.Deps) error {
	if !d.Settings.NodeOverlay {
		return nil
	}
	enqueue := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{all} })
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return builder.ControllerManagedBy(mgr).
		Named("nodeoverlay").
		Watches(&overlayv1alpha1.NodeOverlay{}, enqueue, changed).
		Watches(&karpv1.NodePool{}, enqueue, changed).
		WithOptions(controller.Options{RateLimiter: loop.Punctual()}).
		Complete(New(d))
}

// Reconcile looks at every overlay.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var overlays overlayv1alpha1.NodeOverlayList
	if err := r.Client.List(ctx, &overlays); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing NodeOverlays: %w", err)
	}
	markets, err := r.markets(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	var valid []catalog.Overlay
	wrong := map[string]cluster.Faults{}
	for i := range overlays.Items {
		o, faults := cluster.Overlay(&overlays.Items[i])
		if len(faults) > 0 {
			wrong[o.Name] = faults
			continue
		}
		valid = append(valid, o)
	}
	contradicted := catalog.Contradictions(valid, markets)
	var errs []error
	for i := range overlays.Items {
		o := &overlays.Items[i]
		reason, message := "", ""
		if faults, by := wrong[o.Name], contradicted[o.Name]; len(faults) > 0 {
			reason, message = reasonInvalid, faults.String()
		} else if by != "" {
			reason, message = reasonConflict, plan.Contradicted(by)
		}
		errs = append(errs, r.judge(ctx, o, reason, message))
	}
	return loop.Outcome(reconcile.Result{RequeueAfter: refresh}, errors.Join(errs...))
}

// markets are those of the pools whose class tells its instance types.
func (r *Reconciler) markets(ctx context.Context) ([]catalog.Market, error) {
	var pools karpv1.NodePoolList
	if err := r.Client.List(ctx, &pools); err != nil {
		return nil, fmt.Errorf("listing NodePools: %w", err)
	}
	var out []catalog.Market
	for i := range pools.Items {
		pool := cluster.Pool(&pools.Items[i], cluster.Options{})
		if types, err := r.Types(pool.Class); err == nil {
			out = append(out, catalog.Market{Labels: pool.Labels, Types: types})
		}
	}
	return out, nil
}

// judge writes the conditions of one overlay. It counts without a reason why not.
func (r *Reconciler) judge(ctx context.Context, o *overlayv1alpha1.NodeOverlay, reason, message string) error {
	_, err := r.Writer.Overlay(ctx, o, func(o *overlayv1alpha1.NodeOverlay) {
		conditions := o.StatusConditions(status.WithClock(r.Clock))
		if reason == "" {
			conditions.SetTrue(overlayv1alpha1.ConditionTypeValidationSucceeded)
			return
		}
		conditions.SetFalse(overlayv1alpha1.ConditionTypeValidationSucceeded, reason, message)
	})
	if reason != "" && err == nil {
		r.Writer.Event(apply.Event{Object: o, Warning: true, Reason: apply.ValidationFailed, Message: message, Dedupe: []string{message}, Window: time.Hour})
	}
	if err != nil {
		return fmt.Errorf("setting conditions of NodeOverlay %s: %w", o.Name, err)
	}
	return nil
}
