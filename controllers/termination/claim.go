package termination

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// poll is how often the cloud is asked whether a machine is gone.
const poll = 5 * time.Second

// askAgain are the shortest and the longest pause between attempts to end a machine.
const askAgainLeast, askAgainMost = time.Second, 10 * time.Second

// failing are the objects whose machines the cloud does not look up or end. Their removal rests.
func failing(d loop.Deps) *loop.Attempts {
	return d.Attempts("the removal of an instance failed and is tried again", askAgainLeast, askAgainMost)
}

// Claims serves claims that are being deleted; it is safe for concurrent use.
type Claims struct {
	deps    loop.Deps
	failing *loop.Attempts
}

// NewClaims makes Claims.
func NewClaims(d loop.Deps) *Claims { return &Claims{d, failing(d)} }

// Forget is called when a claim is gone.
func (c *Claims) Forget(claim reconcile.Request) { c.failing.Forget(claim) }

// Remove takes the removal of a claim one step further. It is called for one claim
// at a time, and never while the claim is being launched.
func (c *Claims) Remove(ctx context.Context, claim *karpv1.NodeClaim) (reconcile.Result, error) {
	d := c.deps
	if !slices.Contains(claim.Finalizers, lifecycle.Finalizer) {
		return reconcile.Result{}, nil
	}
	claim, err := setDeadline(ctx, d, claim)
	if err != nil {
		return reconcile.Result{}, err
	}
	of := loop.RequestFor(claim)
	if left := c.failing.Left(of); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	ids, err := machines(ctx, d, claim)
	if err != nil {
		return c.failing.Failed(ctx, of, err, err.Error(), d.MachineKeys(claim)...), nil
	}
	waiting, err := deleteNodes(ctx, d, claim, ids)
	if err != nil || waiting {
		return reconcile.Result{RequeueAfter: poll}, err // events of the Nodes come first
	}
	again, claim, err := c.stop(ctx, of, claim, ids)
	if err != nil || again > 0 {
		return reconcile.Result{RequeueAfter: again}, err
	}
	_, err = d.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == lifecycle.Finalizer })
	})
	if err == nil {
		count(d, claim)
		log.FromContext(ctx).Info(loop.LoggedDeleted, append(d.MachineKeys(claim),
			"age", d.Clock.Since(claim.CreationTimestamp.Time).Round(time.Second), "after", d.Clock.Since(claim.DeletionTimestamp.Time).Round(time.Second))...)
	}
	return reconcile.Result{}, err
}

// setDeadline writes when the claim's node must be empty, once. An existing value
// stays: a user or a repair may have brought it forward.
func setDeadline(ctx context.Context, d loop.Deps, claim *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	const key = karpv1.NodeClaimTerminationTimestampAnnotationKey
	grace := claim.Spec.TerminationGracePeriod
	if _, ok := claim.Annotations[key]; ok || grace == nil {
		return claim, nil
	}
	at := claim.DeletionTimestamp.Add(grace.Duration).Format(time.RFC3339)
	claim, err := d.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, at)
	})
	if err == nil {
		d.Writer.Event(apply.Event{
			Object: claim, Warning: true, Reason: apply.TerminationGracePeriodExpiring,
			Message: "All pods will be deleted by " + at,
		})
	}
	return claim, err
}

// deleteNodes deletes the Nodes of the machines that were taken over for the claim and
// reports whether any is still there. A Node that only carries its provider ID is left alone,
// and one that was not taken over holds no finalizer and goes with its machine.
func deleteNodes(ctx context.Context, d loop.Deps, claim *karpv1.NodeClaim, ids []string) (waiting bool, err error) {
	var nodes []*corev1.Node
	for _, id := range ids {
		carrying, err := d.NodesOf(ctx, id)
		if err != nil {
			return false, err
		}
		nodes = append(nodes, carrying...)
	}
	own, _ := cluster.Claim(claim).Own(nodes)
	for _, n := range own {
		if !lifecycle.Ours(n) && !claim.StatusConditions(status.WithObservedOnly()).IsTrue(karpv1.ConditionTypeRegistered) {
			continue
		}
		waiting = true
		if _, err := d.Writer.Delete(ctx, n); err != nil {
			return false, err
		}
	}
	return waiting, nil
}

// stop asks the cloud to end the claim's machines. Until none is left it says when to look again.
func (c *Claims) stop(ctx context.Context, of reconcile.Request, claim *karpv1.NodeClaim, ids []string) (again time.Duration, after *karpv1.NodeClaim, err error) {
	for _, id := range ids {
		err := c.deps.Provider.Terminate(ctx, id)
		switch {
		case errors.Is(err, cloud.ErrNotFound):
		case err != nil:
			result := failed(ctx, c.failing, of, id, fmt.Errorf("terminating %s: %w", id, err), c.deps.MachineKeys(claim))
			return result.RequeueAfter, claim, refused(ctx, c.deps, claim, err)
		default:
			again = poll
		}
	}
	c.failing.Forget(of)
	if again > 0 {
		claim, err = terminating(ctx, c.deps, claim)
	}
	return again, claim, err
}

// machines are the provider IDs of the claim's. A claim that names none may still have one:
// the launch may have succeeded without a note of it, or the note was erased.
func machines(ctx context.Context, d loop.Deps, claim *karpv1.NodeClaim) ([]string, error) {
	if claim.Status.ProviderID != "" {
		return []string{claim.Status.ProviderID}, nil
	}
	instances, err := d.Provider.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing instances: %w", err)
	}
	var ids []string
	for _, i := range instances {
		if i.LaunchedFor(claim.Name, claim.UID) {
			ids = append(ids, i.ProviderID)
		}
	}
	return ids, nil
}

// terminating notes on a claim that its machine has been told to stop.
func terminating(ctx context.Context, d loop.Deps, claim *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	return d.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		c.StatusConditions(status.WithClock(d.Clock)).SetTrue(karpv1.ConditionTypeInstanceTerminating)
	})
}

// failed begins the pause of an object whose machine the cloud does not look up or end.
func failed(ctx context.Context, failing *loop.Attempts, of reconcile.Request, id string, err error, keys []any) reconcile.Result {
	return failing.Failed(ctx, of, err, cause(err, id), keys...)
}

// cause is what an error says but for the ID of a machine, which may be in it.
func cause(err error, id string) string {
	return strings.NewReplacer(id, "", path.Base(id), "").Replace(err.Error())
}

// refused is for a cloud that refuses to end a machine, as where the instance is protected from
// termination. That is noted on its claim and told on it and on other objects: nothing else shows
// what the removal waits for.
func refused(ctx context.Context, d loop.Deps, claim *karpv1.NodeClaim, err error, others ...client.Object) error {
	var refusal *cloud.TerminationError
	var throttled *cloud.ThrottledError
	if !errors.As(err, &refusal) || errors.As(err, &throttled) {
		return nil
	}
	message := "the cloud does not terminate the instance: " + err.Error()
	if claim != nil {
		others = append(others, claim)
	}
	for _, o := range others {
		d.Writer.Event(apply.Event{Object: o, Warning: true, Reason: apply.TerminationRefused, Message: message})
	}
	if claim == nil {
		return nil
	}
	_, err = d.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		c.StatusConditions(status.WithClock(d.Clock)).SetFalse(karpv1.ConditionTypeInstanceTerminating, apply.TerminationRefused, message)
	})
	return err
}

func count(d loop.Deps, claim *karpv1.NodeClaim) {
	pool, now := claim.Labels[karpv1.NodePoolLabelKey], d.Clock.Now()
	d.Metrics.ClaimTerminated(pool, claim.Labels[karpv1.CapacityTypeLabelKey], claim.Labels[corev1.LabelTopologyZone], now.Sub(claim.DeletionTimestamp.Time))
	if c := claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeInstanceTerminating); c != nil && c.IsTrue() {
		d.Metrics.InstanceTerminated(pool, now.Sub(c.LastTransitionTime.Time))
	}
}
