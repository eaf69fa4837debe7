// Package idle knows what ends a machine's quiet time, after which
// consolidateAfter lets it be consolidated: pods that come to its node or leave it.
//
// The time of an event is that of the pod, not of the moment at which it is seen:
// after a restart, or a gap in a watch, the same events give the same times, and no
// machine's consolidateAfter begins anew.
package idle

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Resolution is how much later than the recorded event another one must be to
// count: hundreds of pods that start together are one write.
const Resolution = 10 * time.Second

// Between is for how long the next pods are waited for where some have ended: those of Jobs
// and workflows come in rounds, and a Job makes one that has failed anew after ten seconds, and
// after twenty if that fails too. Karpenter takes an empty machine fifteen to twenty-five
// seconds later.
const Between = 25 * time.Second

// Event says that a pod came to a node or left it.
type Event struct {
	Node string
	// At is when, in seconds since 1970.
	At int64
	// Job is true for a pod of a Job, which by policy may not count.
	Job bool
}

// Last is when a pod last came to its node or left it, as far as the pod itself
// tells and not after now; false for pods that never count: those without a node,
// and those that a node brings along.
func Last(p *corev1.Pod, now time.Time) (Event, bool) {
	if p.Spec.NodeName == "" || eviction.Daemon(p) || eviction.Mirror(p) {
		return Event{}, false
	}
	at := Bound(p)
	if eviction.Terminal(p) {
		at = snapshot.Latest(at, Ended(p))
	}
	if p.DeletionTimestamp != nil {
		grace := time.Duration(ptr.Deref(p.DeletionGracePeriodSeconds, 0)) * time.Second
		at = snapshot.Latest(at, p.DeletionTimestamp.Add(-grace)) // when it was told to end
	}
	if at.IsZero() || at.After(now) {
		at = now
	}
	return Event{p.Spec.NodeName, at.Unix(), eviction.OfJob(p)}, true
}

// Gone is the last event of a pod that is found deleted now. One that had ended, or
// had been told to, left then.
func Gone(p *corev1.Pod, now time.Time) (Event, bool) {
	e, counts := Last(p, now)
	if !eviction.Terminal(p) && p.DeletionTimestamp == nil {
		e.At = now.Unix()
	}
	return e, counts
}

// Counts reports whether an event ends the quiet time of a machine on which the
// last recorded one was at that time, zero if there was none.
func (e Event) Counts(last time.Time, policy snapshot.DisruptionPolicy) bool {
	return time.Unix(e.At, 0).Sub(last) >= Resolution && !(e.Job && policy.IgnoreJobs)
}

// StreakAnnotation is on a claim to whose node pods come or from which they go again and
// again: a Streak in JSON.
const StreakAnnotation = "millwright.dev/pod-events"

// Streak is events of a node none of which came later than consolidateAfter, or Between if that
// is more, after the one before: so many since the first.
type Streak struct {
	Since  time.Time `json:"since"`
	Events int       `json:"events"`
}

// StreakOf reads a claim's streak, the zero value if it has none.
func StreakOf(annotations map[string]string) Streak {
	var s Streak
	if json.Unmarshal([]byte(annotations[StreakAnnotation]), &s) != nil {
		return Streak{}
	}
	return s
}

// Next is the streak with one more event, the one before having been at last. A pool that
// never consolidates has none.
func (s Streak) Next(last, at time.Time, after *time.Duration) Streak {
	switch {
	case after == nil:
		return Streak{}
	case at.Sub(last) > max(*after, Between): // or there was none before
		return Streak{}
	case s.Events == 0:
		return Streak{Since: last.UTC(), Events: 2}
	}
	return Streak{Since: s.Since, Events: s.Events + 1}
}

// String is the streak as an annotation has it; empty if it is none.
func (s Streak) String() string {
	if s.Events == 0 {
		return ""
	}
	text, _ := json.Marshal(s) // a time and a number cannot fail
	return string(text)
}

// Interval is how much time there is between two events, on average; last is the latest.
func (s Streak) Interval(last time.Time) time.Duration {
	return (last.Sub(s.Since) / time.Duration(max(s.Events-1, 1))).Round(time.Second)
}

// Bound is when kube-scheduler gave a pod its node.
func Bound(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	if p.Status.StartTime != nil {
		return p.Status.StartTime.Time
	}
	return p.CreationTimestamp.Time
}

// Ended is when the last container of a pod that has ended did, or, where the containers do
// not say, when one of its conditions last changed; zero where nothing says it.
func Ended(p *corev1.Pod) time.Time {
	var at time.Time
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			at = snapshot.Latest(at, t.FinishedAt.Time)
		}
	}
	if !at.IsZero() {
		return at
	}
	for _, c := range p.Status.Conditions {
		at = snapshot.Latest(at, c.LastTransitionTime.Time)
	}
	return at
}

// EndedItself reports whether a pod's containers ran until they succeeded or failed. One that is
// deleted, evicted or preempted, or that the kubelet takes off or never starts, does not.
func EndedItself(p *corev1.Pod) bool {
	return eviction.Terminal(p) && !eviction.Terminating(p) &&
		slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Terminated != nil }) &&
		!slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
		})
}
