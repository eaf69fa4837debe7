package repair

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/repair"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// conditionBlocked is True on a NodePool while a breaker stops the repair of its
// machines.
const conditionBlocked = "RepairBlocked"

// How often it is said again that a repair is held up, as in Karpenter, and that a
// machine is broken.
const (
	blockedWindow = 15 * time.Minute
	brokenWindow  = time.Hour
)

// tell says on claims and Nodes what is wrong, and what becomes of it.
func (w *Watcher) tell(ctx context.Context, d *repair.Decision) error {
	var errs []error
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Told() {
			w.event(v)
			errs = append(errs, w.note(ctx, v.Node, func(nc *karpv1.NodeClaim) { w.SetConditions(nc, []plan.Condition{v.Condition()}) }))
		}
	}
	for _, n := range d.Well {
		well := plan.Condition{Type: repair.Unhealthy, Status: corev1.ConditionFalse, Reason: "Healthy", Message: "nothing is wrong any more"}
		errs = append(errs, w.note(ctx, n, func(nc *karpv1.NodeClaim) { w.SetConditions(nc, []plan.Condition{well}) }))
	}
	for n, since := range d.Notes {
		errs = append(errs, w.note(ctx, n, func(nc *karpv1.NodeClaim) { set(nc, repair.SinceAnnotation, since) }))
	}
	return errors.Join(errs...)
}

// note changes a claim. One that is gone, or has just been changed elsewhere, is
// for the next look.
func (w *Watcher) note(ctx context.Context, n *snapshot.Node, change func(*karpv1.NodeClaim)) error {
	claim, ok := w.Store.NodeClaim(n.Claim.Name)
	if !ok {
		return nil
	}
	if _, err := w.Writer.Claim(ctx, claim, change); !loop.Overtaken(err) {
		return err
	}
	return nil
}

// event publishes what is more than a passing condition.
func (w *Watcher) event(v *repair.Verdict) {
	e := apply.Event{Warning: true, Reason: apply.NodeUnhealthy, Window: brokenWindow, Dedupe: []string{string(v.Reason.Code), string(v.Action)}, Message: v.Reason.Message()}
	switch v.Reason.Code {
	case plan.FindingTolerated:
		return
	case plan.DoNotRepair, plan.RepairBlocked, plan.CorrelatedFailure, plan.RepairBudget, plan.BudgetInvalid, plan.TooFewHealthy:
		e.Reason, e.Window = apply.NodeRepairBlocked, blockedWindow
	}
	objects := []client.Object{v.Node.Object}
	if claim, ok := w.Store.NodeClaim(v.Node.Claim.Name); ok {
		objects = append(objects, claim)
	}
	for _, e.Object = range objects {
		w.Writer.Event(e)
	}
}

// tellPools says on NodePools whether their repair is stopped.
func (w *Watcher) tellPools(ctx context.Context, d *repair.Decision) error {
	var list karpv1.NodePoolList
	if err := w.Client.List(ctx, &list); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		np := &list.Items[i]
		at := slices.IndexFunc(d.Blocks, func(b repair.Block) bool { return b.Pool == np.Name })
		if at < 0 && np.StatusConditions().Get(conditionBlocked) == nil {
			continue
		}
		_, err := w.Writer.Pool(ctx, np, func(np *karpv1.NodePool) {
			conditions := np.StatusConditions(status.WithClock(w.Clock))
			if at < 0 {
				_ = conditions.Clear(conditionBlocked) // it refuses only conditions that Ready depends on
				return
			}
			reason := d.Blocks[at].Reason
			conditions.Set(status.Condition{Type: conditionBlocked, Status: metav1.ConditionTrue, Reason: string(reason.Code), Message: reason.Message()})
			w.Writer.Event(apply.Event{Object: np, Warning: true, Reason: apply.NodeRepairBlocked, Window: blockedWindow, Dedupe: []string{string(reason.Code)}, Message: reason.Message()})
		})
		if !loop.Overtaken(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
