package disruption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/disruption/drift"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// due is a condition that a claim should have, or should not have.
type due struct {
	claim, condition string
	// reason is empty for a condition that is to be taken off. With a message the
	// condition is False.
	reason, message string
}

// conditions writes Consolidatable, Drifted and Disruptable of every claim for
// which they have changed: Consolidatable is True once the machine has been quiet
// for consolidateAfter, Drifted while it is not what its pool asks for, and missing
// otherwise; Disruptable is the verdict.
func (d *Disruptor) conditions(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision) error {
	byClaim := map[string][]due{}
	for _, c := range append(d.due(ctx, s), d.verdicts(s, decision)...) {
		byClaim[c.claim] = append(byClaim[c.claim], c)
	}
	changed := slices.Sorted(maps.Keys(byClaim))
	errs := make([]error, len(changed))
	loop.SideBySide(len(changed), func(i int) { errs[i] = d.set(ctx, changed[i], byClaim[changed[i]]) })
	return errors.Join(errs...)
}

func (d *Disruptor) due(ctx context.Context, s *snapshot.Snapshot) []due {
	var out []due
	for _, n := range s.Nodes {
		if n.Claim == nil || n.Deleting() {
			continue
		}
		want := due{claim: n.Claim.Name, condition: snapshot.Consolidatable}
		if is, _ := disruption.Consolidatable(s, n); is {
			want.reason = snapshot.Consolidatable
		}
		if has := n.Claim.Is(snapshot.Consolidatable); has != (want.reason != "") {
			out = append(out, want)
		}
		pool := s.Pool(n.Claim.Pool)
		if pool == nil || !n.Claim.Is(snapshot.Launched) {
			continue
		}
		drifted := due{claim: n.Claim.Name, condition: snapshot.Drifted, reason: cmp.Or(drift.Seen(pool, n.Claim, s.Now), d.reported(ctx, n.Claim))}
		if has := n.Claim.Conditions[snapshot.Drifted].Reason; has != drifted.reason {
			out = append(out, drifted)
		}
	}
	return out
}

// verdicts are the Disruptable conditions whose reason has changed, or whose message names
// a pod that has gone, a time that has passed or a setting that has changed. A machine whose
// turn to be examined has not come keeps what was found out before, one that others delete
// only loses what it said of its staying, and one that is coming has other conditions that tell.
func (d *Disruptor) verdicts(s *snapshot.Snapshot, decision *disruption.Decision) []due {
	var out []due
	said := map[string]plan.Reason{}
	for _, v := range decision.Verdicts {
		switch v.Reason.Code {
		case plan.NotOurs, plan.NotInitialized, plan.NotExamined:
			continue
		case plan.BeingDeleted:
			if v.Node.Claim == nil || v.Node.Claim.Conditions[disruption.Disruptable].Status != corev1.ConditionFalse {
				continue
			}
		}
		want := due{v.Node.Claim.Name, disruption.Disruptable, string(v.Reason.Code), v.Reason.Message()}
		if v.Disrupting && v.Reason.Code != plan.BeingDeleted {
			want.reason, want.message = string(v.Cause), ""
		}
		was, known := d.said[want.claim]
		switch {
		case v.Node.Claim.Conditions[disruption.Disruptable].Reason == want.reason && known && (v.Disrupting || !v.Outdates(was, s)):
			said[want.claim] = was
		default:
			said[want.claim] = v.Reason
			out = append(out, want)
		}
	}
	d.said = said
	return out
}

// set writes what has changed about one claim.
func (d *Disruptor) set(ctx context.Context, name string, changed []due) error {
	claim, ok := d.Store.NodeClaim(name)
	if !ok {
		return nil
	}
	_, err := d.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
		conditions := nc.StatusConditions(status.WithClock(d.Clock))
		for _, want := range changed {
			switch {
			case want.message != "":
				conditions.SetFalse(want.condition, want.reason, want.message)
			case want.reason != "":
				conditions.SetTrueWithReason(want.condition, want.reason, want.reason)
			default: // no dependent of Ready, so that clearing it cannot fail
				_ = conditions.Clear(want.condition)
			}
		}
	})
	if loop.Overtaken(err) {
		return nil // the next pass sees why
	}
	if err != nil {
		return fmt.Errorf("setting conditions of NodeClaim %s: %w", name, err)
	}
	return nil
}
