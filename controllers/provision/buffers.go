package provision

import (
	"context"
	"errors"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/buffer"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// tellBuffers writes what came of the buffers to their status.
func (p *Provisioner) tellBuffers(ctx context.Context, s *snapshot.Snapshot, answer *plan.Plan) error {
	states := map[*snapshot.Buffer]plan.BufferState{}
	for _, state := range answer.Buffers() {
		states[state.Buffer] = state
	}
	errs := make([]error, len(s.Buffers))
	loop.SideBySide(len(s.Buffers), func(i int) { errs[i] = p.tellBuffer(ctx, s.Buffers[i], states[s.Buffers[i]]) })
	return errors.Join(errs...)
}

// tellBuffer writes one status. A buffer that has changed meanwhile is told after the next plan.
func (p *Provisioner) tellBuffer(ctx context.Context, b *snapshot.Buffer, state plan.BufferState) error {
	var object bufferv1beta1.CapacityBuffer
	if err := p.Client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Name}, &object); err != nil {
		return client.IgnoreNotFound(err)
	}
	_, err := p.Writer.Buffer(ctx, &object, func(o *bufferv1beta1.CapacityBuffer) { p.fillStatus(o, b, state) })
	if err != nil && !loop.Overtaken(err) {
		return fmt.Errorf("writing the status of CapacityBuffer %s/%s: %w", b.Namespace, b.Name, err)
	}
	return nil
}

func (p *Provisioner) fillStatus(o *bufferv1beta1.CapacityBuffer, b *snapshot.Buffer, state plan.BufferState) {
	o.Status.ProvisioningStrategy = o.Spec.ProvisioningStrategy
	o.Status.PodTemplateRef, o.Status.PodTemplateGeneration = nil, nil
	if b.Template != "" {
		o.Status.PodTemplateRef, o.Status.PodTemplateGeneration = &bufferv1beta1.LocalObjectRef{Name: b.Template}, &b.TemplateGeneration
	}
	if b.Chunk != nil {
		count := int32(b.Count)
		o.Status.Replicas = &count
	}
	for _, c := range buffer.Conditions(b, state) {
		status := metav1.ConditionFalse
		if c.True {
			status = metav1.ConditionTrue
		}
		apimeta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
			Type: c.Type, Status: status, Reason: c.Reason, Message: c.Message,
			ObservedGeneration: o.Generation, LastTransitionTime: metav1.NewTime(p.Clock.Now()),
		})
	}
}
