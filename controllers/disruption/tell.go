package disruption

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/plan"
)

// budgetWindow is how often a pool is told that its budgets hold machines back.
const budgetWindow = time.Minute

// worthAnEvent are the reasons by which somebody keeps a machine that would
// otherwise qualify. That pods run on it, or that it has only just become quiet,
// is not news.
func worthAnEvent(c plan.Code) bool {
	switch c {
	case plan.DoNotDisrupt, plan.PDBBlocks, plan.Nominated, plan.PoolMissing, plan.PodFitsNowhere, plan.LimitHolds, plan.ReplacementFailed:
		return true
	}
	return false
}

// unconsolidatable are the reasons by which it does not pay to remove or replace a
// machine.
func unconsolidatable(c plan.Code) bool {
	switch c {
	case plan.NothingCheaper, plan.SavingTooSmall, plan.TooFewTypes, plan.NotWorthDisruption, plan.PriceUnknown,
		plan.PaysBackTooSlowly, plan.WouldUndo, plan.LoopDetected:
		return true
	}
	return false
}

// unconsolidatableWindow is how often that is said of one machine.
const unconsolidatableWindow = 15 * time.Minute

// tell publishes why machines stay.
func (d *Disruptor) tell(ctx context.Context, decision *disruption.Decision) {
	for _, v := range decision.Verdicts {
		switch {
		case worthAnEvent(v.Reason.Code):
			d.tellOf(v, apply.Event{Reason: apply.DisruptionBlocked, Dedupe: []string{string(v.Reason.Code)}})
		case unconsolidatable(v.Reason.Code):
			d.tellOf(v, apply.Event{Reason: apply.Unconsolidatable, Window: unconsolidatableWindow})
		}
	}
	d.tellBudgets(ctx, decision)
}

// tellOf publishes a verdict on the machine's Node and claim.
func (d *Disruptor) tellOf(v disruption.Verdict, e apply.Event) {
	var objects []client.Object
	if v.Node.Object != nil {
		objects = append(objects, v.Node.Object)
	}
	if claim, ok := d.Store.NodeClaim(v.Node.Claim.Name); ok {
		objects = append(objects, claim)
	}
	e.Message = v.Reason.Message()
	for _, e.Object = range objects {
		d.Writer.Event(e)
	}
}

// tellImagined tells what would be done, by an observer.
func (d *Disruptor) tellImagined(ctx context.Context, decision *disruption.Decision) {
	for _, c := range decision.Commands {
		if c.Step != disruption.Mark {
			continue
		}
		for _, n := range c.Nodes {
			v, _ := decision.Verdict(n.Name)
			d.tellOf(v, apply.Event{Reason: apply.WouldDisrupt, Dedupe: []string{string(c.Cause)}, Window: unconsolidatableWindow})
		}
		log.FromContext(ctx).Info("would disrupt", "nodeclaims", c.Claims, "cause", c.Cause, "launching", len(c.Launch), "savingPerHour", c.Saving)
	}
}

// tellBudgets tells each pool once whose budgets hold machines back.
func (d *Disruptor) tellBudgets(ctx context.Context, decision *disruption.Decision) {
	told := map[string]bool{}
	for _, v := range decision.Verdicts {
		held := v.Reason.Code == plan.BudgetExhausted || v.Reason.Code == plan.BudgetInvalid
		if !held || told[v.Node.Claim.Pool] {
			continue
		}
		told[v.Node.Claim.Pool] = true
		np := &karpv1.NodePool{}
		if err := d.Client.Get(ctx, types.NamespacedName{Name: v.Node.Claim.Pool}, np); err != nil {
			continue // gone, or not seen yet; the next pass says it again
		}
		d.Writer.Event(apply.Event{
			Object: np, Reason: apply.DisruptionBlocked, Dedupe: []string{string(disruption.Empty)}, Window: budgetWindow,
			Message: v.Reason.Message(),
		})
	}
}
