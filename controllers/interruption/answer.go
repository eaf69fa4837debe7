package interruption

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=patch;delete
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// answer does what is due for one machine.
func (w *Watcher) answer(ctx context.Context, r interruption.Response) error {
	claim, ok := w.Store.NodeClaim(r.Node.Claim.Name)
	if !ok {
		return nil
	}
	claim, err := w.tell(ctx, r, claim)
	if err != nil {
		return err
	}
	if r.Replace != nil || r.Keep {
		if claim, err = w.replace(ctx, r, claim); err != nil {
			return err
		}
	}
	if r.WriteDeadline || r.WriteEnds || r.WriteIgnores {
		if claim, err = w.timetable(ctx, r, claim); err != nil {
			return err
		}
	}
	if r.GiveUp {
		if claim, err = w.record(ctx, claim, nil); err != nil {
			return err
		}
	}
	switch r.Action {
	case snapshot.InterruptionRestart:
		return errors.Join(w.cordon(ctx, r), w.restart(ctx, r, claim))
	case snapshot.InterruptionCordon:
		return errors.Join(w.cordon(ctx, r), w.evict(ctx, r))
	case snapshot.InterruptionDrain, snapshot.InterruptionTerminate:
		return w.drain(ctx, r, claim)
	}
	if r.Uncordon {
		return w.uncordon(ctx, r)
	}
	return nil
}

// replace asks for a replacement on the claim, or takes that back; package
// disruption carries it out.
func (w *Watcher) replace(ctx context.Context, r interruption.Response, claim *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	return w.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		if r.Keep {
			delete(c.Annotations, disruption.RequestAnnotation)
			return
		}
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, disruption.RequestAnnotation, r.Replace.String())
	})
}

// evict moves pods away that need not wait for the machine's time. What a budget
// refuses is tried again.
func (w *Watcher) evict(ctx context.Context, r interruption.Response) error {
	var errs []error
	for _, p := range r.Evict {
		_, err := w.Writer.Evict(ctx, p.Pod)
		if blocked := (*apply.BlockedError)(nil); err != nil && !loop.Overtaken(err) && !errors.As(err, &blocked) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (w *Watcher) cordon(ctx context.Context, r interruption.Response) error {
	if interruption.Cordoned(r.Node) {
		return nil
	}
	taint := corev1.Taint{Key: interruption.CordonTaint, Value: string(r.Verdicts[0].Event.Kind), Effect: corev1.TaintEffectNoSchedule}
	return w.retaint(ctx, r, taint)
}

func (w *Watcher) uncordon(ctx context.Context, r interruption.Response) error {
	return w.retaint(ctx, r)
}

// retaint replaces the cordon of every Node of the machine's instance, of its own last: that one
// tells whether all are done.
func (w *Watcher) retaint(ctx context.Context, r interruption.Response, cordon ...corev1.Taint) error {
	nodes, err := w.NodesOf(ctx, r.Node.Claim.ProviderID)
	if err != nil {
		return err
	}
	nodes = slices.DeleteFunc(nodes, func(n *corev1.Node) bool { return n.Name == r.Node.Object.Name })
	for _, n := range append(nodes, r.Node.Object) {
		_, err := w.Writer.Node(ctx, n, func(n *corev1.Node) {
			n.Spec.Taints = append(slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == interruption.CordonTaint }), cordon...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// timetable notes on a claim by when its node must be empty, when the cloud takes the
// machine, and what does not count meanwhile.
func (w *Watcher) timetable(ctx context.Context, r interruption.Response, claim *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	return w.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) {
		if r.WriteDeadline {
			note(c, drain.DeadlineAnnotation, stamp(r.Deadline))
		}
		if r.WriteIgnores {
			note(c, drain.IgnoresAnnotation, r.Ignores)
		}
		if r.WriteEnds {
			note(c, drain.EndsAnnotation, stamp(r.Ends))
		}
	})
}

// note keeps a value in an annotation of a claim, none for an empty one.
func note(c *karpv1.NodeClaim, key, value string) {
	if value == "" {
		delete(c.Annotations, key)
		return
	}
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value)
}

// drain deletes a claim, on which its timetable is.
func (w *Watcher) drain(ctx context.Context, r interruption.Response, claim *karpv1.NodeClaim) error {
	if claim.DeletionTimestamp != nil {
		return nil
	}
	if r.Verdicts[0].Event.Kind == interruption.Terminated {
		var err error
		if claim, err = w.Writer.Ended(ctx, claim, r.Verdicts[0].Reason.Message()); err != nil {
			return err
		}
	}
	first, err := w.Writer.Delete(ctx, claim)
	if err != nil || !first {
		return err
	}
	e := r.Verdicts[0].Event
	log.FromContext(ctx).Info("machine goes because of an interruption", "nodeclaim", claim.Name, "event", e.ID, "kind", e.Kind, "action", r.Action)
	for _, o := range w.objects(r, claim) {
		w.Writer.Event(apply.Event{Object: o, Warning: true, Reason: apply.TerminatingOnInterruption, Message: "Interruption triggered termination: " + r.Verdicts[0].Reason.Message()})
	}
	w.Metrics.ClaimDisrupted(metrics.Disruption{
		Reason: metrics.Announced(e.Kind), Pool: r.Node.Claim.Pool, CapacityType: r.Node.Labels()[karpv1.CapacityTypeLabelKey],
		GracePeriod: r.Node.Claim.TerminationGracePeriod, Pods: disruption.Movers(r.Node),
	})
	return nil
}
