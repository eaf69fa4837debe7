package nodepolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/policy"
)

// +kubebuilder:rbac:groups=millwright.dev,resources=nodepolicies,verbs=list;watch
// +kubebuilder:rbac:groups=millwright.dev,resources=nodepolicies/status,verbs=patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get;list;watch

// Reasons of the conditions.
const (
	reasonInForce    = "InForce"
	reasonNoNodePool = "NoNodePool"
	reasonOverridden = "Overridden"
	reasonAlone      = "NotOverridden"
	reasonEmpty      = "NoSections"
	reasonValid      = "ValidationSucceeded"
	reasonInvalid    = "NodePolicyValidationFailed"
)

// all is the one request of the queue.
var all = reconcile.Request{NamespacedName: client.ObjectKey{Name: "all"}}

// Reconciler writes the status of all policies at once.
type Reconciler struct{ loop.Deps }

// New makes a Reconciler.
func New(d loop.Deps) *Reconciler { return &Reconciler{d} }

// Add registers the loop.
func Add(mgr manager.Manager, d loop.Deps) error {
	enqueue := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{all} })
	changed := builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))
	return builder.ControllerManagedBy(mgr).
		Named("nodepolicy").
		Watches(&v1alpha1.NodePolicy{}, enqueue, changed).
		Watches(&karpv1.NodePool{}, enqueue, changed).
		WithOptions(controller.Options{RateLimiter: loop.Punctual()}).
		Complete(New(d))
}

// Reconcile looks at every policy.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var policies v1alpha1.NodePolicyList
	if err := r.Client.List(ctx, &policies); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing NodePolicies: %w", err)
	}
	var pools karpv1.NodePoolList
	if err := r.Client.List(ctx, &pools); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing NodePools: %w", err)
	}
	values := make([]policy.Policy, len(policies.Items))
	for i := range policies.Items {
		values[i] = cluster.PolicyOf(&policies.Items[i])
	}
	names := make([]policy.Pool, len(pools.Items))
	for i, p := range pools.Items {
		names[i] = policy.Pool{Name: p.Name, Labels: p.Labels}
	}
	rules := policy.Resolve(values, names)
	var errs []error
	for i := range policies.Items {
		_, err := r.Writer.Policy(ctx, &policies.Items[i], func(p *v1alpha1.NodePolicy) { r.update(p, values[i], names, rules) })
		errs = append(errs, err)
	}
	return loop.Outcome(reconcile.Result{}, errors.Join(errs...))
}

// update writes what the rules say about one policy into its status.
func (r *Reconciler) update(p *v1alpha1.NodePolicy, value policy.Policy, pools []policy.Pool, rules []policy.Rule) {
	p.Status.NodePools = nil
	inForce, overridden := 0, 0
	for _, pool := range pools {
		if !value.Selects(pool) {
			continue
		}
		s := poolStatus(p.Name, pool.Name, rules)
		inForce, overridden = inForce+len(s.InForce), overridden+len(s.Overridden)
		p.Status.NodePools = append(p.Status.NodePools, s)
	}
	slices.SortFunc(p.Status.NodePools, func(a, b v1alpha1.PoolStatus) int { return cmp.Compare(a.Name, b.Name) })
	p.Status.Selected = int32(len(p.Status.NodePools)) //nolint:gosec // a cluster has no two billion pools
	missing := slices.DeleteFunc(slices.Clone(value.Names), func(name string) bool {
		return slices.ContainsFunc(pools, func(pool policy.Pool) bool { return pool.Name == name })
	})
	r.condition(p, ready(p, inForce, missing))
	r.condition(p, overriddenBy(p, overridden))
	r.validation(p)
}

// validation says which fields mean nothing although the API server has admitted them.
func (r *Reconciler) validation(p *v1alpha1.NodePolicy) {
	faults := cluster.CheckPolicy(p)
	if len(faults) == 0 {
		r.condition(p, metav1.Condition{Type: v1alpha1.ConditionValidationSucceeded, Status: metav1.ConditionTrue, Reason: reasonValid})
		return
	}
	r.condition(p, metav1.Condition{Type: v1alpha1.ConditionValidationSucceeded, Status: metav1.ConditionFalse, Reason: reasonInvalid, Message: faults.String()})
	r.Writer.Event(apply.Event{Object: p, Warning: true, Reason: apply.ValidationFailed, Message: faults.String(), Dedupe: []string{faults.String()}, Window: time.Hour})
}

func poolStatus(policyName, pool string, rules []policy.Rule) v1alpha1.PoolStatus {
	s := v1alpha1.PoolStatus{Name: pool}
	for _, rule := range rules {
		section := v1alpha1.Section(rule.Section)
		switch {
		case rule.Pool != pool:
		case rule.Policy == policyName:
			s.InForce = append(s.InForce, section)
		case slices.Contains(rule.Overridden, policyName):
			s.Overridden = append(s.Overridden, v1alpha1.Override{Section: section, By: rule.Policy})
		}
	}
	return s
}

// ready has the NodePools that are selected by name and do not exist, which may be names that are
// mistyped.
func ready(p *v1alpha1.NodePolicy, inForce int, missing []string) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case len(p.Spec.Sections()) == 0:
		c.Reason, c.Message = reasonEmpty, "the policy has no section and decides nothing"
	case len(p.Status.NodePools) == 0:
		c.Reason, c.Message = reasonNoNodePool, "no NodePool is selected"
	case inForce == 0:
		c.Reason, c.Message = reasonOverridden, "other policies come first for every NodePool that is selected; see status.nodePools"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, reasonInForce
	}
	if len(missing) > 0 {
		c.Message = strings.TrimPrefix(c.Message+"; ", "; ") + "spec.nodePools.names: there is no NodePool " + strings.Join(missing, ", ")
	}
	return c
}

func overriddenBy(p *v1alpha1.NodePolicy, overridden int) metav1.Condition {
	if overridden == 0 {
		return metav1.Condition{Type: v1alpha1.ConditionOverridden, Status: metav1.ConditionFalse, Reason: reasonAlone}
	}
	first := p.Status.NodePools[slices.IndexFunc(p.Status.NodePools, func(s v1alpha1.PoolStatus) bool { return len(s.Overridden) > 0 })]
	return metav1.Condition{
		Type: v1alpha1.ConditionOverridden, Status: metav1.ConditionTrue, Reason: reasonOverridden,
		Message: fmt.Sprintf("NodePolicy %s comes first for section %s of NodePool %s; see status.nodePools for all", first.Overridden[0].By, first.Overridden[0].Section, first.Name),
	}
}

func (r *Reconciler) condition(p *v1alpha1.NodePolicy, c metav1.Condition) {
	c.ObservedGeneration = p.Generation
	c.LastTransitionTime = metav1.NewTime(r.Clock.Now())
	meta.SetStatusCondition(&p.Status.Conditions, c)
}
