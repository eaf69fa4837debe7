package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/repair"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=patch

// request has a machine rebooted.
func (w *Watcher) request(ctx context.Context, c repair.Command, claim *karpv1.NodeClaim) error {
	_, err := w.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
		set(nc, repair.RebootDrainAnnotation, repair.RebootDrain.String())
		set(nc, lifecycle.PreBootAnnotation, "")
		w.SetConditions(nc, []plan.Condition{{
			Type: snapshot.Rebooting, Status: corev1.ConditionTrue, Reason: lifecycle.RebootRequested, Message: c.Finding.RebootCause(),
		}})
	})
	if err == nil {
		log.FromContext(ctx).Info("machine reboots because it is broken", "nodeclaim", claim.Name, "node", c.Node.Name, "because", c.Finding.What)
	}
	return err
}

// reboot takes a machine whose reboot is requested one step further.
func (w *Watcher) reboot(ctx context.Context, s *snapshot.Snapshot, n *snapshot.Node) error {
	claim, ok := w.Store.NodeClaim(n.Claim.Name)
	if !ok {
		return nil
	}
	v, err := w.EmptyView(ctx, s, n)
	if err != nil {
		return err
	}
	step := repair.NextReboot(v)
	if step.Taint {
		if _, err := w.Writer.Node(ctx, n.Object, taint); err != nil {
			return err
		}
	}
	if err := w.Leave(ctx, step.Drain); err != nil {
		return err
	}
	if claim, err = w.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
		for key, value := range step.Notes {
			metav1.SetMetaDataAnnotation(&nc.ObjectMeta, key, value)
		}
	}); err != nil {
		return err
	}
	if step.Tell {
		if step.Failed, err = w.tellCloud(ctx, n.Claim.ProviderID); err != nil {
			return err // it is told again
		}
		step.Issued = step.Failed == ""
	}
	switch {
	case step.Failed != "":
		return w.failed(ctx, s.Now, n, claim, step.Failed)
	case step.Issued:
		return w.issued(ctx, n, claim)
	}
	return nil
}

func taint(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, lifecycle.Rebooting) }

// tellCloud has the cloud reboot a machine, and says why it never will.
func (w *Watcher) tellCloud(ctx context.Context, providerID string) (never string, err error) {
	machines, can := cloud.As[cloud.Rebooter](w.Provider)
	if !can {
		return "its cloud cannot reboot a machine", nil
	}
	err = machines.Reboot(ctx, providerID)
	if denied := (*cloud.UnauthorizedError)(nil); errors.Is(err, cloud.ErrNotFound) || errors.As(err, &denied) {
		return err.Error(), nil
	}
	if err != nil {
		return "", fmt.Errorf("rebooting %s: %w", providerID, err)
	}
	return "", nil
}

// issued notes that the cloud was told.
func (w *Watcher) issued(ctx context.Context, n *snapshot.Node, claim *karpv1.NodeClaim) error {
	_, err := w.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
		w.SetConditions(nc, []plan.Condition{
			{Type: snapshot.Rebooting, Status: corev1.ConditionTrue, Reason: lifecycle.RebootIssued, Message: n.Claim.Conditions[snapshot.Rebooting].Message},
			{Type: snapshot.Initialized, Status: corev1.ConditionUnknown, Reason: snapshot.Rebooting, Message: "the Node is being rebooted"},
		})
	})
	if err != nil {
		return err
	}
	_, err = w.Writer.Node(ctx, n.Object, func(n *corev1.Node) { delete(n.Labels, snapshot.InitializedLabel) })
	return err
}

// failed ends a reboot that the cloud does not make.
func (w *Watcher) failed(ctx context.Context, now time.Time, n *snapshot.Node, claim *karpv1.NodeClaim, why string) error {
	claim, err := w.Writer.Claim(ctx, claim, func(nc *karpv1.NodeClaim) {
		set(nc, lifecycle.PreBootAnnotation, "")
		w.SetConditions(nc, []plan.Condition{{Type: snapshot.Rebooting, Status: corev1.ConditionFalse, Reason: lifecycle.RebootFailed, Message: why}})
	})
	if err != nil {
		return err
	}
	w.Writer.Event(apply.Event{Object: claim, Warning: true, Reason: apply.RebootFailed, Message: why})
	w.Metrics.Rebooted(metrics.RebootProviderError, now.Sub(n.Claim.Conditions[snapshot.Rebooting].Since), 0)
	return nil
}
