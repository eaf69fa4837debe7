package termination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// evict sends the pods of the step away. A pod whose budget refuses keeps the
// others waiting for nothing.
func (r *removal) evict(ctx context.Context, step drain.Step) error {
	var failed []error
	reason := r.reason()
	for _, p := range step.Evict {
		evicted, err := r.deps.Writer.Evict(ctx, p)
		var blocked *apply.BlockedError
		switch {
		case errors.As(err, &blocked):
			r.deps.Metrics.EvictionAnswered(code(blocked))
			r.failedDraining(fmt.Sprintf("Pod %s/%s: %s", p.Namespace, p.Name, blocked.Message))
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
		if err != nil {
			failed = append(failed, err)
		} else if deleted {
			r.deps.Metrics.PodDrained(reason)
			r.deps.Writer.Event(apply.Event{
				Object: gone.Pod, Reason: apply.Disrupted,
				Message: fmt.Sprintf("Deleted with a grace period of %.0f s: its node must be empty by %s", gone.Grace.Seconds(), r.deadline.UTC().Format("2006-01-02T15:04:05Z")),
			})
		}
	}
	return errors.Join(failed...)
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

// note writes the step's conditions onto the claim and tells the owner of the
// node what is waited for.
func (r *removal) note(ctx context.Context, v drain.View, step drain.Step) error {
	switch step.Phase {
	case drain.Drain:
		if slices.ContainsFunc(step.Pods, func(p drain.Verdict) bool { return p.Waits }) {
			r.failedDraining(step.Waiting())
		}
	case drain.Detach:
		r.noteVolumes(step)
	}
	if !r.deadline.IsZero() {
		r.deps.Writer.Event(apply.Event{
			Object: r.node, Warning: true, Reason: apply.TerminationGracePeriodExpiring,
			Message: "All pods will be deleted by " + r.deadline.UTC().Format("2006-01-02T15:04:05Z"),
		})
	}
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

func (r *removal) noteVolumes(step drain.Step) {
	var names []string
	for _, a := range step.Volumes {
		if a.Waits && len(names) < 5 {
			names = append(names, a.Objects[0].Name)
		}
	}
	r.deps.Writer.Event(apply.Event{
		Object: r.node, Reason: apply.AwaitingVolumeDetachment, Message: "Waiting for the detachment of " + strings.Join(names, ", "),
	})
}

func (r *removal) failedDraining(message string) {
	r.deps.Writer.Event(apply.Event{Object: r.node, Warning: true, Reason: apply.FailedDraining, Message: message})
}

func (r *removal) count() {
	now := r.deps.Clock.Now()
	r.deps.Metrics.NodeTerminated(r.node.Labels[karpv1.NodePoolLabelKey], r.node.Labels[corev1.LabelTopologyZone],
		now.Sub(r.node.DeletionTimestamp.Time), now.Sub(r.node.CreationTimestamp.Time))
}
