package nomination

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// For how long a complete node is kept for a pod.
const (
	// TriedLease is the time if kube-scheduler has found no node for the pod since the
	// node began to take pods: a pod is tried again at most ten seconds after something
	// changes that may help it (podMaxBackoffSeconds), such as a startup taint, and what
	// it says of the pod then differs unless its reason is the same.
	TriedLease = 100 * time.Second
	// Lease is the time if kube-scheduler has not tried it since. It tries every pod that it
	// gave up on again after five minutes at the latest
	// (podMaxInUnschedulablePodsDuration, looked at every thirty seconds).
	Lease = 6 * time.Minute
)

// slack is how much earlier than the node was found registered kube-scheduler may
// have seen it so.
const slack = 10 * time.Second

// Until is when a machine stops being kept for a pod that does not get bound there:
// some time after the pod began to wait, the node was complete, and anything else
// last changed on it, whichever was last. The zero time is never: the machine is
// still on its way, or not ours, or the pod still runs elsewhere.
func Until(p *snapshot.Pod, n *snapshot.Node) time.Time {
	since := WaitingSince(p)
	if since.IsZero() || !complete(n) {
		return time.Time{}
	}
	since = snapshot.Latest(since, changed(n))
	if lastTried(p).Before(n.Claim.Conditions[snapshot.Registered].Since.Add(-slack)) {
		return since.Add(Lease)
	}
	return since.Add(TriedLease)
}

// Refused reports whether kube-scheduler has had the time to put a pod on a machine
// that is complete, and has not.
func Refused(p *snapshot.Pod, n *snapshot.Node, now time.Time) bool {
	return noted(p, n) || over(p, n, now)
}

// over reports whether a machine is kept for a pod no longer.
func over(p *snapshot.Pod, n *snapshot.Node, now time.Time) bool {
	until := Until(p, n)
	return !until.IsZero() && !now.Before(until)
}

func complete(n *snapshot.Node) bool {
	return n.Claim != nil && n.Initialized() && n.Claim.Is(snapshot.Initialized)
}

// changed is when a complete machine last became a different one for pods.
func changed(n *snapshot.Node) time.Time {
	return snapshot.Latest(n.Claim.Conditions[snapshot.Initialized].Since, n.Claim.LastPodEvent)
}

// WaitingSince is when kube-scheduler first found no node for a pod, zero if it
// has not, or if the pod has a node.
func WaitingSince(p *snapshot.Pod) time.Time {
	if p.Spec.NodeName != "" {
		return time.Time{}
	}
	c := condition(p.Pod, corev1.PodScheduled)
	switch {
	case c == nil || c.Status != corev1.ConditionFalse:
		return time.Time{}
	case c.LastTransitionTime.IsZero():
		return p.CreationTimestamp.Time // a scheduler that does not say
	}
	return c.LastTransitionTime.Time
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}
