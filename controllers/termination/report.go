package termination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// evict sends the pods of the step away. A pod whose eviction is refused keeps the
// others waiting for nothing.
func (r *removal) evict(ctx context.Context, step drain.Step) error {
	var failed []error
	answers := map[types.UID]drain.Answer{}
	reason := r.reason()
	for _, p := range step.Evict {
		evicted, err := r.evictOne(ctx, p, step.Fitted(p))
		var blocked *apply.BlockedError
		answers[p.UID] = r.answer(p, evicted, err)
		switch {
		case errors.As(err, &blocked):
			r.deps.Metrics.EvictionAnswered(code(blocked))
			r.failedDraining(fmt.Sprintf("Pod %s/%s: %s", p.Namespace, p.Name, blocked.Message))
		case apply.Refused(err):
		case err != nil:
			failed = append(failed, err)
		case evicted:
			r.deps.Metrics.EvictionAnswered("200")
			r.deps.Metrics.PodDrained(reason)
			r.deps.Writer.Event(apply.Event{Object: p, Reason: apply.Evicted, Message: "Evicted pod: " + reason})
		}
	}
	for _, gone := range step.Delete {
		deleted, err := r.deps.Writer.DeletePod(ctx, gone.Pod, gone.Grace)
		answers[gone.Pod.UID] = r.answer(gone.Pod, deleted, err)
		switch {
		case apply.Refused(err):
		case err != nil:
			failed = append(failed, err)
		case deleted:
			r.deps.Metrics.PodDrained(reason)
			r.deps.Writer.Event(apply.Event{
				Object: gone.Pod, Reason: apply.Disrupted,
				Message: fmt.Sprintf("Deleted with a grace period of %.0f s: %s", gone.Grace.Seconds(), r.because(gone)),
			})
		}
	}
	for _, cause := range r.answers.note(r.node.Name, answers) {
		log.FromContext(ctx).Error(nil, "the API server refuses to take pods away", "Node", klog.KObj(r.node), "error", cause)
	}
	return errors.Join(failed...)
}

// because is why a pod is deleted whatever its budgets say.
func (r *removal) because(d drain.Deletion) string {
	if d.Unguarded {
		return "the policy for its node's interruption lets no PodDisruptionBudget hold it back"
	}
	return "its node must be empty by " + r.deadline.UTC().Format("2006-01-02T15:04:05Z")
}

// answer is what the API server said to the removal of a pod, without the pod's name; zero
// if it neither agreed nor refused.
func (r *removal) answer(p *corev1.Pod, agreed bool, err error) drain.Answer {
	switch {
	case agreed:
		return drain.Answer{At: r.deps.Clock.Now()}
	case !apply.Refused(err):
		return drain.Answer{}
	}
	return drain.Answer{Words: strings.ReplaceAll(apply.Words(err), fmt.Sprintf(" %q", p.Name), ""), At: r.deps.Clock.Now()}
}

// evictOne evicts a pod when it is the turn of its budget.
func (r *removal) evictOne(ctx context.Context, p *corev1.Pod, grace time.Duration) (bool, error) {
	if over := r.budgets.Over(p); len(over) > 0 {
		done, err := r.turns.take(ctx, over[0].UID)
		if err != nil {
			return false, err
		}
		defer done()
	}
	return r.deps.Writer.EvictWithin(ctx, p, grace)
}

func code(b *apply.BlockedError) string {
	if b.Misconfigured {
		return strconv.Itoa(500)
	}
	return strconv.Itoa(429)
}

// reason is why the node goes, as eviction events and metrics word it.
func (r *removal) reason() string {
	if r.claim != nil {
		if c := r.claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeDisruptionReason); c != nil && c.Reason != "" {
			return c.Reason
		}
	}
	return "Forceful Termination"
}

// note writes the step's conditions onto the claim and tells the owners of the
// node and of its DaemonSets what is waited for and what to mend.
func (r *removal) note(ctx context.Context, v drain.View, step drain.Step) error {
	r.tell(v, step)
	if r.claim == nil || len(step.Conditions) == 0 {
		return nil
	}
	claim, err := r.deps.Writer.Claim(ctx, r.claim, func(c *karpv1.NodeClaim) { r.deps.SetConditions(c, step.Conditions) })
	if err != nil {
		return err
	}
	r.claim = claim
	if !v.Node.Claim.Is(snapshot.Drained) && claim.StatusConditions(status.WithObservedOnly()).IsTrue(karpv1.ConditionTypeDrained) {
		r.deps.Metrics.NodeDrained(v.Node.Claim.Pool)
	}
	return nil
}

func (r *removal) tell(v drain.View, step drain.Step) {
	switch step.Phase {
	case drain.PreDrain, drain.PreTerminate:
		overdue := step.Blocked()
		r.event(apply.Event{Warning: len(overdue) > 0, Reason: apply.AwaitingHooks, Message: message(step)})
	case drain.Drain:
		if slices.ContainsFunc(step.Pods, func(p drain.Verdict) bool { return p.Waits }) {
			r.waits(step)
		}
	case drain.Detach, drain.Release:
		stuck := step.Blocked()
		e := apply.Event{Warning: len(stuck) > 0, Reason: apply.AwaitingVolumeDetachment, Message: message(step)}
		if len(stuck) > 0 {
			e.Dedupe = []string{fmt.Sprint(stuck[0].Objects)}
		}
		r.event(e)
	}
	if len(step.LeftBehind) > 0 {
		r.event(apply.Event{Warning: true, Reason: apply.VolumesLeftBehind, Message: message(step)})
	}
	for _, f := range step.Forgetful {
		r.deps.Writer.Event(apply.Event{
			Object: owner(v, f), Warning: true, Reason: apply.MissingToleration, Window: time.Hour,
			Message: "Its pod " + f.Objects[1].String() + " is an agent of its node and is kept until the end: it " + f.Have + "; " + f.Remedy(),
		})
	}
	if !r.deadline.IsZero() {
		r.deps.Writer.Event(apply.Event{
			Object: r.node, Warning: true, Reason: apply.TerminationGracePeriodExpiring,
			Message: "All pods will be deleted by " + r.deadline.UTC().Format("2006-01-02T15:04:05Z"),
		})
	}
}

// waits tells the Node of pods that are waited for, and its claim as well of what
// does not end by itself; another such thing than before is told at once.
func (r *removal) waits(step drain.Step) {
	e := apply.Event{Object: r.node, Warning: true, Reason: apply.FailedDraining, Message: step.Waiting()}
	blocked := step.Blocked()
	if len(blocked) == 0 {
		r.deps.Writer.Event(e)
		return
	}
	e.Dedupe = []string{string(blocked[0].Code), fmt.Sprint(blocked[0].Objects)}
	r.event(e)
}

// event publishes an event on the Node and on its claim.
func (r *removal) event(e apply.Event) {
	e.Object = r.node
	r.deps.Writer.Event(e)
	if r.claim != nil {
		e.Object = r.claim
		r.deps.Writer.Event(e)
	}
}

// message is what the step's last condition says.
func message(step drain.Step) string {
	if len(step.Conditions) == 0 {
		return ""
	}
	return step.Conditions[len(step.Conditions)-1].Message
}

// owner is the DaemonSet that a reason names, as far as an event has to know it.
func owner(v drain.View, r plan.Reason) *appsv1.DaemonSet {
	out := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.Objects[0].Namespace, Name: r.Objects[0].Name}}
	for _, n := range append(v.Others, v.Node) {
		for _, p := range n.Pods {
			if p.Namespace != r.Objects[1].Namespace || p.Name != r.Objects[1].Name {
				continue
			}
			for _, o := range p.OwnerReferences {
				if o.Kind == "DaemonSet" {
					out.UID = o.UID
				}
			}
		}
	}
	return out
}

func (r *removal) failedDraining(message string) {
	r.deps.Writer.Event(apply.Event{Object: r.node, Warning: true, Reason: apply.FailedDraining, Message: message})
}

func (r *removal) count() {
	now := r.deps.Clock.Now()
	r.deps.Metrics.NodeTerminated(r.node.Labels[karpv1.NodePoolLabelKey], r.node.Labels[corev1.LabelTopologyZone],
		now.Sub(r.node.DeletionTimestamp.Time), now.Sub(r.node.CreationTimestamp.Time))
}
