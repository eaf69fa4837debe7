package nodepool

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/cluster/admitted"
	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Reconciler keeps the annotations and the status of NodePools up to date. It is
// safe for concurrent use on different pools.
type Reconciler struct {
	loop.Deps
	mapper meta.RESTMapper
	health *Health
	failed failed
}

// New makes a Reconciler, which counts launches that end from now on. The mapper
// finds the version under which a node class is served.
func New(d loop.Deps, mapper meta.RESTMapper) *Reconciler {
	return &Reconciler{Deps: d, mapper: mapper, health: NewHealth(d.Clock.Now())}
}

// Periods of looking again without an event: whether a class is ready may be known to the
// provider only, not to its status, and an informer may tell of a claim before the store has it.
const (
	recheckReady   = time.Minute
	recheckUnready = 5 * time.Second
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools/status,verbs=patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=karpenter.kwok.sh,resources=kwoknodeclasses,verbs=get
// +kubebuilder:rbac:groups=karpenter.k8s.aws,resources=ec2nodeclasses,verbs=get

// Reconcile looks at one pool.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	np := &karpv1.NodePool{}
	if err := r.Client.Get(ctx, req.NamespacedName, np); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if np.DeletionTimestamp != nil || !r.Manages(cluster.ClassRef(np.Spec.Template.Spec.NodeClassRef)) {
		return reconcile.Result{}, nil
	}
	synced := r.Store.Synced()
	after, err := r.update(ctx, np, synced)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if err == nil && synced {
		err = r.staff(ctx, after)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("updating NodePool %s: %w", np.Name, err)
	}
	again := recheckUnready
	switch {
	case !synced:
		again = time.Second
	case r.conditions(after).Root().IsTrue():
		again = recheckReady
	}
	if until := r.nextPause(after); until > 0 {
		again = min(again, until)
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// update walks a pool through the steps and writes the outcome. What is counted waits for the
// store to be synced.
func (r *Reconciler) update(ctx context.Context, np *karpv1.NodePool, synced bool) (*karpv1.NodePool, error) {
	if err := r.restampClaims(ctx, np); err != nil {
		return nil, err
	}
	class, err := r.class(ctx, np)
	if err != nil {
		return nil, fmt.Errorf("reading its node class: %w", err)
	}
	now := r.Store.Snapshot(r.Clock.Now(), nil)
	claims, counted := r.ended(now, np.Name)
	after, err := r.Writer.Pool(ctx, np, func(np *karpv1.NodePool) {
		if decode.Fault(np) == "" {
			stamp(np)
		}
		r.validation(np)
		r.budgets(np)
		r.readiness(np, class)
		r.registrationHealth(np, class)
		if synced {
			count(np, now)
			r.backoff(np, now, claims)
			r.learn(np, claims)
		}
	})
	if err == nil && synced {
		r.failed.drop(counted)
	}
	return after, err
}

// restampClaims carries a pool's claims over to the present hash version, before
// the pool itself is stamped: when this is cut off, it is done again.
func (r *Reconciler) restampClaims(ctx context.Context, np *karpv1.NodePool) error {
	if !outdated(np) || decode.Fault(np) != "" {
		return nil
	}
	claims, err := r.claims(ctx, np)
	if err != nil {
		return err
	}
	for i := range claims {
		if _, err := r.Writer.Claim(ctx, &claims[i], func(nc *karpv1.NodeClaim) { restamp(nc, np) }); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("re-stamping its claims: %w", err)
		}
	}
	return nil
}

func (r *Reconciler) claims(ctx context.Context, np *karpv1.NodePool) ([]karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := r.Client.List(ctx, &list, client.MatchingLabels{karpv1.NodePoolLabelKey: np.Name}); err != nil {
		return nil, fmt.Errorf("listing its claims: %w", err)
	}
	return list.Items, nil
}

// validation sets ValidationSucceeded.
func (r *Reconciler) validation(np *karpv1.NodePool) {
	if why := admitted.Pool(np); why != "" {
		r.conditions(np).SetFalse(karpv1.ConditionTypeValidationSucceeded, "NodePoolValidationFailed", why)
		return
	}
	r.conditions(np).SetTrue(karpv1.ConditionTypeValidationSucceeded)
}

// conditionBudgetInvalid is True while a disruption budget cannot be read. The pool
// launches machines all the same, so it is not for ValidationSucceeded. A pool that is in
// order does not have it.
const conditionBudgetInvalid = string(plan.BudgetInvalid)

// budgets says which disruption budgets cannot be read.
func (r *Reconciler) budgets(np *karpv1.NodePool) {
	faults := cluster.CheckPool(np)
	if len(faults) == 0 {
		_ = r.conditions(np).Clear(conditionBudgetInvalid) // it refuses only conditions that Ready depends on
		return
	}
	r.conditions(np).Set(status.Condition{Type: conditionBudgetInvalid, Status: metav1.ConditionTrue, Reason: apply.ValidationFailed, Message: faults.String()})
	r.Writer.Event(apply.Event{Object: np, Warning: true, Reason: apply.ValidationFailed, Message: faults.String(), Dedupe: []string{faults.String()}, Window: time.Hour})
}

func (r *Reconciler) conditions(np *karpv1.NodePool) status.ConditionSet {
	return np.StatusConditions(status.WithClock(r.Clock))
}
