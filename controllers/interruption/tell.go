package interruption

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// toldAgain is how often an event that stands is told of again.
const toldAgain = 6 * time.Hour

// reasons are Karpenter's reasons of events for each kind.
var reasons = map[interruption.Kind]string{
	interruption.Spot:             apply.SpotInterrupted,
	interruption.Rebalance:        apply.SpotRebalanceRecommendation,
	interruption.Maintenance:      apply.InstanceUnhealthy,
	interruption.Reservation:      apply.CapacityReservationInstanceInterrupted,
	interruption.Stopped:          apply.InstanceStopping,
	interruption.Terminated:       apply.InstanceTerminating,
	interruption.InstanceImpaired: apply.InstanceUnhealthy,
	interruption.SystemImpaired:   apply.InstanceUnhealthy,
	interruption.VolumeImpaired:   apply.InstanceUnhealthy,
	interruption.ZoneImpaired:     apply.InstanceUnhealthy,
	interruption.ServiceIssue:     apply.InstanceUnhealthy,
}

// tell says on the Node, the claim, and the volume that an event is about, what stands, and what will be done about it
// when. What the policy ignores is not told of.
func (w *Watcher) tell(ctx context.Context, r interruption.Response, claim *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	if r.Node.Deleting() {
		return claim, nil // it was told why, if it goes for this
	}
	var loudest *interruption.Verdict
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Action == snapshot.InterruptionIgnore || v.Event.Over() {
			continue
		}
		if loudest == nil {
			loudest = v
		}
		for _, o := range append(w.objects(r, claim), w.volume(ctx, v.Event.PersistentVolume)...) {
			w.Writer.Event(apply.Event{
				Object: o, Warning: v.Event.Kind != interruption.Rebalance, Reason: reasons[v.Event.Kind], Window: toldAgain,
				Dedupe: []string{v.Event.ID, string(v.Reason.Code)}, Message: v.String(),
			})
		}
	}
	return w.note(ctx, claim, loudest)
}

// volume is the PersistentVolume that an event is about, if it is about one that is there.
func (w *Watcher) volume(ctx context.Context, name string) []client.Object {
	pv := &corev1.PersistentVolume{}
	if name == "" || w.Client.Get(ctx, client.ObjectKey{Name: name}, pv) != nil {
		return nil // one that is gone needs no event
	}
	return []client.Object{pv}
}

// note keeps the condition. A claim that was never interrupted has none.
func (w *Watcher) note(ctx context.Context, claim *karpv1.NodeClaim, v *interruption.Verdict) (*karpv1.NodeClaim, error) {
	had := claim.StatusConditions().Get(snapshot.Interrupted)
	condition := plan.Condition{Type: snapshot.Interrupted, Status: corev1.ConditionFalse, Reason: "Over", Message: "the cloud announces nothing any more"}
	switch {
	case v != nil:
		condition = plan.Condition{Type: snapshot.Interrupted, Status: corev1.ConditionTrue, Reason: string(v.Reason.Code), Message: v.String()}
	case had == nil || had.IsFalse():
		return claim, nil
	}
	if had != nil && string(had.Status) == string(condition.Status) && had.Reason == condition.Reason && had.Message == condition.Message {
		return claim, nil
	}
	updated, err := w.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) { w.SetConditions(c, []plan.Condition{condition}) })
	if err != nil {
		return claim, fmt.Errorf("noting an interruption: %w", err)
	}
	return updated, nil
}

func (w *Watcher) objects(r interruption.Response, claim *karpv1.NodeClaim) []client.Object {
	if r.Node.Object == nil {
		return []client.Object{claim}
	}
	return []client.Object{r.Node.Object, claim}
}
