package nomination

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Lease is for how long a complete node is kept for a pod. kube-scheduler tries
// every pod that it gave up on again after five minutes at the latest
// (podMaxInUnschedulablePodsDuration, looked at every thirty seconds); a pod that
// has not been bound by then is refused for a reason that the plan does not see.
const Lease = 6 * time.Minute

// Until is when a machine stops being kept for a pod that does not get bound
// there: a lease after the pod began to wait, the node was complete, and
// anything else last changed on it, whichever was last. The zero time is never:
// the machine is still on its way, or not ours, or the pod still runs elsewhere.
func Until(p *snapshot.Pod, n *snapshot.Node) time.Time {
	since := waitingSince(p)
	if since.IsZero() || n.Claim == nil || !n.Initialized() || !n.Claim.Is(snapshot.Initialized) {
		return time.Time{}
	}
	for _, at := range []time.Time{n.Claim.Conditions[snapshot.Initialized].Since, n.Claim.LastPodEvent} {
		if at.After(since) {
			since = at
		}
	}
	return since.Add(Lease)
}

// Refused reports whether the time is over in which a machine is kept for a pod.
func Refused(p *snapshot.Pod, n *snapshot.Node, now time.Time) bool {
	until := Until(p, n)
	return !until.IsZero() && !now.Before(until)
}

// waitingSince is when kube-scheduler first found no node for a pod, zero if it
// has not, or if the pod has a node.
func waitingSince(p *snapshot.Pod) time.Time {
	if p.Spec.NodeName != "" {
		return time.Time{}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
