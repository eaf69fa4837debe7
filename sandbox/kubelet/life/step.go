package life

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Exit codes of containers that did not choose one themselves.
const (
	exitKilled  = 137 // SIGKILL: the grace period was over, or the machine was lost
	exitCrashed = 1
)

// Life is what a kubelet remembers of a pod. The zero value is a pod it never
// saw. Times are zero until the thing has happened.
type Life struct {
	Accepted  time.Time
	Mounted   time.Time
	Started   time.Time // the first moment at which all main containers run
	Asked     time.Time // the deletion was seen
	Ended     time.Time
	Unmounted bool
	// ExitCode is that of all containers once Ended.
	ExitCode int32
	// Restarts is how often the containers were started before this life: a
	// machine that lost its memory starts the same pod again.
	Restarts int32
	// boot is the timing the containers started with, fixed from Started on: a
	// later change of settings does not rewrite what happened.
	boot Timing
}

// Timing is how long things take for one pod.
type Timing struct {
	Start time.Duration // from mounted volumes to the first container
	Init  time.Duration // of each init container
	Stop  time.Duration // from the signal to the end of the containers
	Exec  time.Duration // of a preStop hook that is not a sleep
	// RunFor, if set, ends the pod that long after it started, with ExitCode.
	RunFor   *time.Duration
	ExitCode int32
	// Crashes is how often the containers have crashed, and wait to be started again;
	// zero for containers that run.
	Crashes int32
}

// Input is everything a step depends on.
type Input struct {
	Pod        *corev1.Pod // read only
	Life       Life
	Now        time.Time
	Timing     Timing
	CanMount   bool
	CanUnmount bool
	HostIP     string
	PodIP      string
}

// Output is what a step decides.
type Output struct {
	Life   Life
	Status corev1.PodStatus
	// Remove says that nothing of the pod is left on the machine and that the
	// object, which is being deleted, may go.
	Remove bool
	// Wake is when the next step is due; zero if only events matter.
	Wake time.Time
}

// Step moves the pod on as far as it can go now.
func Step(in Input) Output {
	l := in.Life
	if l.Accepted.IsZero() {
		l.accept(in)
	}
	deleting := in.Pod.DeletionTimestamp != nil
	if deleting && l.Asked.IsZero() {
		l.Asked = in.Now
	}
	var wake time.Time
	if l.Ended.IsZero() {
		wake = l.run(in)
	}
	if !l.Ended.IsZero() && !l.Unmounted {
		l.Unmounted = l.Mounted.IsZero() || in.CanUnmount
	}
	return Output{
		Life:   l,
		Status: status(in, l),
		Remove: deleting && l.Unmounted,
		Wake:   wake,
	}
}

// accept begins the life of a pod on this machine. If its containers ran
// before, the machine lost them: they start again where the pod allows it.
func (l *Life) accept(in Input) {
	l.Accepted = in.Now
	for _, c := range in.Pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			l.Restarts = max(l.Restarts, c.RestartCount+1)
		}
	}
	if l.Restarts > 0 && in.Pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		l.end(in.Now, exitKilled)
	}
}

// run takes a pod that has not ended through mounting, starting and ending,
// and returns when it should be looked at again.
func (l *Life) run(in Input) time.Time {
	if final(in.Pod.Status.Phase) {
		l.end(in.Now, 0)
		return time.Time{}
	}
	if l.Mounted.IsZero() && in.CanMount && l.Asked.IsZero() {
		l.Mounted = in.Now
	}
	wake := l.start(in)
	at, code, known := l.ending(in)
	switch {
	case !known:
		return wake
	case at.After(in.Now):
		return earliest(wake, at)
	}
	l.end(at, code)
	return time.Time{}
}

// start lets init containers and then the main containers begin, and returns
// when the next of them is due.
func (l *Life) start(in Input) time.Time {
	if l.Mounted.IsZero() || !l.Started.IsZero() || !l.Asked.IsZero() {
		return time.Time{}
	}
	due := l.Mounted.Add(in.Timing.Start)
	for range in.Pod.Spec.InitContainers {
		if due.After(in.Now) {
			return due
		}
		due = due.Add(in.Timing.Init)
	}
	if due.After(in.Now) {
		return due
	}
	l.Started, l.boot = in.Now, in.Timing
	return time.Time{}
}

// ending is when the containers end and with which code, as far as known now.
func (l *Life) ending(in Input) (at time.Time, code int32, known bool) {
	if !l.Started.IsZero() && in.Timing.RunFor != nil {
		at, code, known = l.Started.Add(*in.Timing.RunFor), in.Timing.ExitCode, true
	}
	if l.Asked.IsZero() {
		return at, code, known
	}
	if l.Started.IsZero() {
		return l.Asked, exitKilled, true
	}
	took, stopCode := stopTime(in.Pod, in.Timing)
	if stopped := l.Asked.Add(took); !known || stopped.Before(at) {
		at, code = stopped, stopCode
	}
	return at, code, true
}

func (l *Life) end(at time.Time, code int32) {
	l.Ended, l.ExitCode = at, code
}

// bootTiming is the timing that the start-up followed or, before its end, does.
func (l *Life) bootTiming(in Input) Timing {
	if l.Started.IsZero() {
		return in.Timing
	}
	return l.boot
}

// initsBegun is how many init containers have been started so far.
func (l *Life) initsBegun(in Input) int {
	all := len(in.Pod.Spec.InitContainers)
	if !l.Started.IsZero() {
		return all
	}
	if l.Mounted.IsZero() {
		return 0
	}
	due := l.Mounted.Add(in.Timing.Start)
	begun := 0
	for begun < all && !due.After(in.Now) {
		begun++
		due = due.Add(in.Timing.Init)
	}
	return begun
}

func final(p corev1.PodPhase) bool {
	return p == corev1.PodSucceeded || p == corev1.PodFailed
}

// earliest is the earlier of two times of which a zero one does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
