package disruption

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/nomination"
)

// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get

// attempts bounds how often a note is tried again: others write the same pod, and the
// machine that it is about may be gone with the next pass.
const attempts = 5

// noteRefusal writes a refusal on its pod if that still waits.
func (d *Disruptor) noteRefusal(ctx context.Context, r nomination.Refusal) error {
	var err error
	for range attempts {
		pod := &corev1.Pod{}
		if err = d.Live.Get(ctx, client.ObjectKeyFromObject(r.Pod.Pod), pod); err != nil || pod.UID != r.Pod.UID || pod.Spec.NodeName != "" {
			break
		}
		if err = d.Writer.Pod(ctx, pod, r.Note); !apierrors.IsConflict(err) {
			break
		}
	}
	return client.IgnoreNotFound(err)
}

// disagree notes on pods that kube-scheduler does not put them where they are
// planned, and takes the note off those that have a node by now.
func (d *Disruptor) disagree(ctx context.Context, decision *disruption.Decision) error {
	var errs []error
	for _, r := range decision.Refusals {
		d.Writer.Event(apply.Event{Object: r.Pod.Pod, Warning: true, Reason: apply.SchedulerDisagrees, Message: r.Reason().Message()})
		if err := d.noteRefusal(ctx, r); err != nil {
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
