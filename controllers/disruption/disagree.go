package disruption

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/nomination"
)

// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch

// disagree notes on pods that kube-scheduler does not put them where they are
// planned, and takes the note off those that have a node by now.
func (d *Disruptor) disagree(ctx context.Context, decision *disruption.Decision) error {
	var errs []error
	for _, r := range decision.Refusals {
		d.Writer.Event(apply.Event{Object: r.Pod.Pod, Warning: true, Reason: apply.SchedulerDisagrees, Message: r.Reason().Message()})
		if err := d.Writer.Pod(ctx, r.Pod.Pod, r.Note); err != nil && !loop.Overtaken(err) {
			errs = append(errs, fmt.Errorf("noting on pod %s/%s that kube-scheduler refuses it: %w", r.Pod.Namespace, r.Pod.Name, err))
		}
	}
	for _, p := range decision.Agreed {
		if err := d.Writer.Pod(ctx, p.Pod, nomination.Agree); err != nil && !loop.Overtaken(err) {
			errs = append(errs, fmt.Errorf("taking the disagreement off pod %s/%s: %w", p.Namespace, p.Name, err))
		}
	}
	return errors.Join(errs...)
}
