package life

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons as a kubelet words them.
const (
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
	reasonCompleted    = "Completed"
	reasonError        = "Error"
	reasonBackOff      = "CrashLoopBackOff"
	reasonNotInit      = "ContainersNotInitialized"
	reasonNotReady     = "ContainersNotReady"
	reasonPodCompleted = "PodCompleted"
	reasonGates        = "ReadinessGatesNotReady"
)

// status is the report of a life. It keeps what belongs to others: their
// conditions, the quality of service, the claims. A final phase given by
// another client is kept as it is.
func status(in Input, l Life) corev1.PodStatus {
	old := &in.Pod.Status
	if final(old.Phase) {
		return *old
	}
	s := *old.DeepCopy()
	s.Phase = phase(l)
	s.HostIP, s.PodIP = in.HostIP, in.PodIP
	s.HostIPs = []corev1.HostIP{{IP: in.HostIP}}
	s.PodIPs = nil
	if in.PodIP != "" {
		s.PodIPs = []corev1.PodIP{{IP: in.PodIP}}
	}
	if s.StartTime == nil {
		s.StartTime = &metav1.Time{Time: second(l.Accepted)}
	}
	b := builder{in: in, l: l}
	s.InitContainerStatuses = b.initContainers()
	s.ContainerStatuses = b.containers()
	for _, c := range b.conditions() {
		setCondition(&s.Conditions, c, in.Now)
	}
	return s
}

func phase(l Life) corev1.PodPhase {
	switch {
	case !l.Ended.IsZero() && l.ExitCode == 0:
		return corev1.PodSucceeded
	case !l.Ended.IsZero():
		return corev1.PodFailed
	case !l.Started.IsZero():
		return corev1.PodRunning
	default:
		return corev1.PodPending
	}
}

// builder holds what the parts of a status are computed from.
type builder struct {
	in Input
	l  Life
}

func (b builder) containers() []corev1.ContainerStatus {
	waiting := reasonCreating
	if len(b.in.Pod.Spec.InitContainers) > 0 {
		waiting = reasonInitializing
	}
	var out []corev1.ContainerStatus
	for _, c := range b.in.Pod.Spec.Containers {
		s := b.container(c)
		switch {
		case !b.l.Ended.IsZero():
			s.State.Terminated = b.terminated(b.l.Started, b.l.Ended, b.l.ExitCode)
		case b.crashes():
			b.crashed(&s)
		case !b.l.Started.IsZero():
			b.running(&s, b.l.Started)
		default:
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: waiting}
		}
		out = append(out, s)
	}
	return out
}

func (b builder) initContainers() []corev1.ContainerStatus {
	begun := b.l.initsBegun(b.in)
	boot := b.l.bootTiming(b.in)
	begin := b.l.Mounted.Add(boot.Start)
	var out []corev1.ContainerStatus
	for i, c := range b.in.Pod.Spec.InitContainers {
		s := b.container(c)
		end := begin.Add(boot.Init)
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		done := i < begun-1 || !b.l.Started.IsZero()
		switch {
		case i >= begun && b.l.Ended.IsZero():
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasonInitializing}
		case i >= begun:
			s.State.Terminated = b.terminated(b.l.Ended, b.l.Ended, b.l.ExitCode)
		case !b.l.Ended.IsZero() && (sidecar || !done):
			s.State.Terminated = b.terminated(begin, b.l.Ended, b.l.ExitCode)
		case done && !sidecar:
			s.State.Terminated = b.terminated(begin, end, 0)
			s.Ready = true // a finished init container counts as ready
		default:
			b.running(&s, begin)
			s.Ready = sidecar && done
		}
		out = append(out, s)
		begin = end
	}
	return out
}

// container is what all states of a container have in common.
func (b builder) container(c corev1.Container) corev1.ContainerStatus {
	started := false
	return corev1.ContainerStatus{
		Name:         c.Name,
		Image:        c.Image,
		ImageID:      c.Image,
		RestartCount: b.l.Restarts,
		Started:      &started,
	}
}

// crashes reports whether the main containers would run but crash.
func (b builder) crashes() bool {
	return !b.l.Started.IsZero() && b.l.Ended.IsZero() && b.in.Timing.Crashes > 0
}

// crashed is a container that waits to be started again.
func (b builder) crashed(s *corev1.ContainerStatus) {
	s.RestartCount += b.in.Timing.Crashes
	s.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasonBackOff}
	s.LastTerminationState.Terminated = b.terminated(b.l.Started, b.l.Started, exitCrashed)
}

func (b builder) running(s *corev1.ContainerStatus, since time.Time) {
	*s.Started = true
	s.Ready = true
	s.ContainerID = "sandbox://" + string(b.in.Pod.UID) + "/" + s.Name
	s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: second(since)}}
}

func (b builder) terminated(from, to time.Time, code int32) *corev1.ContainerStateTerminated {
	reason := reasonCompleted
	if code != 0 {
		reason = reasonError
	}
	return &corev1.ContainerStateTerminated{
		ExitCode:   code,
		Reason:     reason,
		StartedAt:  metav1.Time{Time: second(from)},
		FinishedAt: metav1.Time{Time: second(to)},
	}
}

// conditions are those a kubelet owns.
func (b builder) conditions() []corev1.PodCondition {
	running := !b.l.Started.IsZero() && b.l.Ended.IsZero() && !b.crashes()
	sandbox := !b.l.Mounted.IsZero() && b.l.Ended.IsZero()
	initialized := !b.l.Started.IsZero() || len(b.in.Pod.Spec.InitContainers) == 0
	why := reasonNotReady
	if !b.l.Ended.IsZero() {
		why = reasonPodCompleted
	}
	ready, readyWhy := running, why
	if running && !b.gatesOpen() {
		ready, readyWhy = false, reasonGates
	}
	return []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, sandbox, ""),
		condition(corev1.PodInitialized, initialized, reasonNotInit),
		condition(corev1.PodReady, ready, readyWhy),
		condition(corev1.ContainersReady, running, why),
	}
}

// gatesOpen says whether others have made all readiness gates true.
func (b builder) gatesOpen() bool {
	for _, gate := range b.in.Pod.Spec.ReadinessGates {
		open := slices.ContainsFunc(b.in.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
		if !open {
			return false
		}
	}
	return true
}

func condition(t corev1.PodConditionType, holds bool, whyNot string) corev1.PodCondition {
	if holds {
		return corev1.PodCondition{Type: t, Status: corev1.ConditionTrue}
	}
	return corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: whyNot}
}

// setCondition adds or replaces a condition; an unchanged one keeps its time.
func setCondition(all *[]corev1.PodCondition, c corev1.PodCondition, now time.Time) {
	c.LastTransitionTime = metav1.Time{Time: second(now)}
	i := slices.IndexFunc(*all, func(o corev1.PodCondition) bool { return o.Type == c.Type })
	if i < 0 {
		*all = append(*all, c)
		return
	}
	old := (*all)[i]
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	c.LastProbeTime, c.ObservedGeneration = old.LastProbeTime, old.ObservedGeneration
	(*all)[i] = c
}

// second drops what the API does not transport, so that a status that was
// stored compares equal to one that is computed again. Zero stays zero.
func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Truncate(time.Second)
}
