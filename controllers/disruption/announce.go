package disruption

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// protectionWindow is how often a pod is told what its do-not-disrupt comes to.
const protectionWindow = 15 * time.Minute

// announce publishes what becomes of commands, which pods are protected for a time, and what
// protects nothing.
func (d *Disruptor) announce(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision) {
	for _, c := range decision.Commands {
		switch {
		case c.Step == disruption.Mark && c.Cause == disruption.Underutilized:
			d.announceMove(ctx, s, decision, c)
		case c.Step == disruption.Await:
			d.announceWait(c)
		}
	}
	for _, r := range decision.Rollbacks {
		if v, ok := decision.Verdict(r.Node.Name); ok {
			d.announceOff(v.Cause, r.Node, r.Reason)
		}
	}
	for _, n := range s.Nodes {
		if n.Claim == nil {
			continue
		}
		d.announceVoid(n)
		for _, p := range n.Pods {
			d.announceProtection(p.Pod)
		}
	}
}

// announceMove tells of a saving that is about to be made, and in a Balanced pool that
// it is worth moving the pods.
func (d *Disruptor) announceMove(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision, c disruption.Command) {
	text := fmt.Sprintf("saves %s without a replacement", plan.PerHour(c.Saving))
	if len(c.Launch) > 0 {
		text = fmt.Sprintf("saves %s with %s in its place", plan.PerHour(c.Saving), c.Launch[0].Choice.Type.Name)
	}
	if len(c.Nodes) > 1 {
		text += ", together with " + plan.Count(len(c.Nodes)-1, "other machine")
	}
	for _, n := range c.Nodes {
		v, _ := decision.Verdict(n.Name)
		d.tellOf(v, apply.Event{Reason: apply.ConsolidationCandidate, Dedupe: []string{c.ID}, Message: text})
	}
	if p := s.Pool(c.Pool); p == nil || p.Disruption.Policy != disruption.Balanced {
		return
	}
	approved := apply.Event{Reason: apply.ConsolidationApproved, Message: text}
	if v, _ := decision.Verdict(c.Nodes[0].Name); len(c.Nodes) == 1 {
		d.tellOf(v, approved)
		return
	}
	np := &karpv1.NodePool{}
	if err := d.Client.Get(ctx, types.NamespacedName{Name: c.Pool}, np); err == nil {
		approved.Object = np
		d.Writer.Event(approved)
	}
}

// announceWait tells replacements that a removal waits for them.
func (d *Disruptor) announceWait(c disruption.Command) {
	for _, name := range c.Replacements {
		claim, ok := d.Store.NodeClaim(name)
		if !ok || claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
			continue
		}
		d.Writer.Event(apply.Event{
			Object: claim, Reason: apply.DisruptionWaitingReadiness, Dedupe: []string{string(c.Cause)},
			Message: fmt.Sprintf("%s goes once this machine is initialized: %s", c.Nodes[0].Name, c.Cause),
		})
	}
}

// announceOff tells that a consolidation is not carried out.
func (d *Disruptor) announceOff(cause disruption.Cause, n *snapshot.Node, reason plan.Reason) {
	if cause == disruption.Empty || cause == disruption.Underutilized {
		d.tellOf(disruption.Verdict{Node: n}, apply.Event{Reason: apply.ConsolidationRejected, Dedupe: []string{string(reason.Code)}, Message: reason.Message()})
	}
}

// announceVoid tells a machine that its do-not-disrupt protects nothing.
func (d *Disruptor) announceVoid(n *snapshot.Node) {
	var node map[string]string
	if n.Object != nil {
		node = n.Object.Annotations
	}
	if value, ok := eviction.Void(n.Claim.Annotations, node); ok {
		d.tellOf(disruption.Verdict{Node: n}, apply.Event{
			Warning: true, Reason: string(eviction.Invalid), Dedupe: []string{value}, Window: protectionWindow,
			Message: fmt.Sprintf("karpenter.sh/do-not-disrupt: %q protects nothing: on a NodeClaim or Node only true does", value),
		})
	}
}

// announceProtection tells a pod what its do-not-disrupt comes to, if that is for a time or
// nothing.
func (d *Disruptor) announceProtection(p *corev1.Pod) {
	notice, until := eviction.NoticeOf(p, d.Clock.Now())
	e := apply.Event{Object: p, Reason: string(notice), Window: protectionWindow}
	switch value := p.Annotations[eviction.DoNotDisruptAnnotation]; notice {
	case eviction.Invalid:
		e.Warning, e.Message = true, fmt.Sprintf("karpenter.sh/do-not-disrupt: %q protects nothing: true or a duration such as 30m does", value)
	case eviction.Lasts:
		e.Message = fmt.Sprintf("protected for %s from its start, until %s", value, until.UTC().Format(time.RFC3339))
	case eviction.Elapsed:
		e.Message = fmt.Sprintf("protected for %s from its start, which was over at %s", value, until.UTC().Format(time.RFC3339))
	default:
		return
	}
	d.Writer.Event(e)
}
