package disruption

import (
	"cmp"
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

// poolWindow is how often a pool is told what holds its machines back.
const poolWindow = time.Minute

// unconsolidatableWindow is how often one machine is told that it does not pay.
const unconsolidatableWindow = 15 * time.Minute

// tell publishes why machines stay.
func (d *Disruptor) tell(ctx context.Context, decision *disruption.Decision) {
	type why struct {
		pool  string
		cause disruption.Cause
	}
	pools := map[why]bool{}
	for _, v := range decision.Verdicts {
		switch v.Reason.Code.Told() {
		case plan.ToldOfMachine:
			d.tellOf(v, apply.Event{Reason: apply.DisruptionBlocked, Dedupe: []string{string(v.Reason.Code)}})
		case plan.ToldSeldom:
			d.tellOf(v, apply.Event{Reason: apply.Unconsolidatable, Window: unconsolidatableWindow})
		case plan.ToldOfPool:
			if w := (why{v.Node.Claim.Pool, v.Cause}); !pools[w] {
				pools[w] = true
				d.tellPool(ctx, v)
			}
		}
	}
}

// tellOf publishes a verdict, or the event's own message, on the machine's Node and claim.
func (d *Disruptor) tellOf(v disruption.Verdict, e apply.Event) {
	var objects []client.Object
	if v.Node.Object != nil {
		objects = append(objects, v.Node.Object)
	}
	if claim, ok := d.Store.NodeClaim(v.Node.Claim.Name); ok {
		objects = append(objects, claim)
	}
	e.Message = cmp.Or(e.Message, v.Reason.Message())
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

// tellPool tells a pool, for each cause, what holds its machines back.
func (d *Disruptor) tellPool(ctx context.Context, v disruption.Verdict) {
	np := &karpv1.NodePool{}
	if err := d.Client.Get(ctx, types.NamespacedName{Name: v.Node.Claim.Pool}, np); err != nil {
		return // gone, or not seen yet; the next pass says it again
	}
	d.Writer.Event(apply.Event{
		Object: np, Reason: apply.DisruptionBlocked, Dedupe: []string{string(v.Cause)}, Window: poolWindow, Message: v.Reason.Message(),
	})
}
