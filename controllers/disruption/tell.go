package disruption

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	case plan.DoNotDisrupt, plan.PDBBlocks, plan.Nominated, plan.PoolMissing:
		return true
	}
	return false
}

// tell publishes why machines stay.
func (d *Disruptor) tell(ctx context.Context, decision *disruption.Decision) {
	for _, v := range decision.Verdicts {
		if worthAnEvent(v.Reason.Code) {
			d.tellBlocked(v)
		}
	}
	d.tellBudgets(ctx, decision)
}

func (d *Disruptor) tellBlocked(v disruption.Verdict) {
	objects := []client.Object{v.Node.Object}
	if claim, ok := d.Store.NodeClaim(v.Node.Claim.Name); ok {
		objects = append(objects, claim)
	}
	for _, obj := range objects {
		d.Writer.Event(apply.Event{
			Object: obj, Reason: apply.DisruptionBlocked, Dedupe: []string{string(v.Reason.Code)}, Message: v.Reason.Message(),
		})
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
