package termination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=volumeattachments,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// name is the controller's, in logs and metrics.
const name = "node.termination"

// workers is how many nodes are drained at once.
const workers = 100

// Reconciler serves Nodes that are being deleted; it is safe for concurrent use.
type Reconciler struct {
	deps    loop.Deps
	turns   *turns
	answers *answers
	failing *loop.Attempts
}

// New makes a Reconciler.
func New(d loop.Deps) *Reconciler { return &Reconciler{d, newTurns(), &answers{}, failing(d)} }

// Add registers the loop: it runs for Nodes with our finalizer that are being
// deleted, and for what their drain may wait for.
func Add(mgr manager.Manager, d loop.Deps) error {
	r := New(d)
	wake := r.wake()
	going := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), lifecycle.Finalizer)
	})
	return builder.ControllerManagedBy(mgr).
		Named(name).
		For(&corev1.Node{}, builder.WithPredicates(going)).
		Watches(&corev1.Pod{}, wake).
		Watches(&policyv1.PodDisruptionBudget{}, wake).
		Watches(&storagev1.VolumeAttachment{}, wake).
		Watches(&batchv1.Job{}, wake).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: loop.Backoff(100*time.Millisecond, 10*time.Second)}).
		Complete(r)
}

// Reconcile takes the removal of a Node one step further.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := r.deps.Client.Get(ctx, req.NamespacedName, node); err != nil {
		r.answers.forget(req.Name)
		r.failing.Forget(req)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if node.DeletionTimestamp == nil || !lifecycle.Ours(node) {
		return reconcile.Result{}, nil
	}
	if !r.deps.Store.Synced() {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if left := r.failing.Left(req); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return loop.Outcome(r.remove(metrics.WithController(ctx, name), node))
}

func (r *Reconciler) remove(ctx context.Context, node *corev1.Node) (reconcile.Result, error) {
	claims, err := r.claims(ctx, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(claims) == 0 && !r.deps.ManagesNode(node) {
		ours, err := r.launched(ctx, node)
		if err != nil {
			return failed(ctx, r.failing, loop.RequestFor(node), node.Spec.ProviderID, err, nil), nil
		}
		if !ours {
			return reconcile.Result{}, nil
		}
		if node, err = r.adopt(ctx, node); err != nil {
			return reconcile.Result{}, err
		}
	}
	if !r.manages(node, claims) {
		return reconcile.Result{}, nil
	}
	old := false
	for _, c := range claims {
		old = old || c.DeletionTimestamp == nil
		if _, err := r.deps.Writer.Delete(ctx, c); err != nil {
			return reconcile.Result{}, err
		}
	}
	if old { // what was read of the claims cannot be written to any more
		return reconcile.Result{RequeueAfter: loop.Soon}, nil
	}
	run := &removal{deps: r.deps, turns: r.turns, answers: r.answers, failing: r.failing, node: node}
	if len(claims) > 0 {
		run.claim = claims[0]
		value := cluster.Claim(run.claim)
		if run.deadline, err = drain.Deadline(value); err == nil {
			run.ends, err = drain.Ends(value)
		}
		if err != nil {
			run.event(apply.Event{Warning: true, Reason: apply.FailedDraining, Message: err.Error()})
			return reconcile.Result{}, err
		}
	}
	if run.others, err = r.deps.NodesOf(ctx, run.providerID()); err != nil {
		return reconcile.Result{}, err
	}
	run.others = slices.DeleteFunc(run.others, func(n *corev1.Node) bool { return n.Name == node.Name })
	if run.machine, err = run.ask(ctx); err != nil {
		return run.failed(ctx, err), nil
	}
	return run.advance(ctx)
}

// claims are those of the Node: by provider ID, or by the owner reference that
// registration left.
func (r *Reconciler) claims(ctx context.Context, node *corev1.Node) ([]*karpv1.NodeClaim, error) {
	claims, err := r.deps.ClaimsOf(ctx, node.Spec.ProviderID)
	if err != nil || len(claims) > 0 {
		return claims, err
	}
	for _, o := range node.OwnerReferences {
		if o.Kind != "NodeClaim" {
			continue
		}
		c, err := r.deps.Claim(ctx, o.Name)
		if err := client.IgnoreNotFound(err); err != nil {
			return nil, err
		}
		if err == nil && c.UID == o.UID {
			claims = append(claims, c)
		}
	}
	return claims, nil
}

// manages reports whether the Node is this process's to take away. The finalizer
// alone does not say: another provider of the same API may have put it there.
func (r *Reconciler) manages(node *corev1.Node, claims []*karpv1.NodeClaim) bool {
	for _, c := range claims {
		if r.deps.Manages(cluster.ClassRef(c.Spec.NodeClassRef)) {
			return true
		}
	}
	return len(claims) == 0 && r.deps.ManagesNode(node)
}

// launched reports whether the provider has launched the machine of a Node that has lost its claim
// and the label of its class.
func (r *Reconciler) launched(ctx context.Context, node *corev1.Node) (bool, error) {
	if node.Spec.ProviderID == "" || len(r.deps.Settings.ManagedClasses) == 0 {
		return false, nil
	}
	instance, err := r.deps.Provider.Get(ctx, node.Spec.ProviderID)
	if errors.Is(err, cloud.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking up %s: %w", node.Spec.ProviderID, err)
	}
	return instance.Token != "", nil
}

// adopt gives such a Node the label back, so that it is known also when the machine is gone. The
// name of its class is lost.
func (r *Reconciler) adopt(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	class := r.deps.Settings.ManagedClasses[0]
	key := karpv1.NodeClassLabelKey(schema.GroupKind{Group: class.Group, Kind: class.Kind})
	return r.deps.Writer.Node(ctx, node, func(n *corev1.Node) {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[key] = ""
	})
}
