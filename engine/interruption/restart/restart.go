package restart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// DefaultTimeout is how long a machine may take to stop, and again to be back.
const DefaultTimeout = 15 * time.Minute

// Poll is how soon to look again at an instance: its cloud tells of nothing.
const Poll = 5 * time.Second

// Order is what is to be restarted, and how.
type Order struct {
	Events []string
	Kind   string
	// KeepPods leaves the pods on the machine; they start again with it.
	KeepPods bool
	// Timeout is how long the machine may take to stop, and again to be back.
	Timeout time.Duration
	// StopBy is when it is told to stop although pods are left; zero is never.
	StopBy time.Time
	// Ignores are the protections of pods that do not count, as drain.IgnoresAnnotation
	// has them; with IgnoreGracePeriod the claim's terminationGracePeriod does not either.
	Ignores           string
	IgnoreGracePeriod bool
}

// State is what the cloud says of an instance.
type State string

// The states.
const (
	Running  State = "running"
	Stopping State = "stopping"
	Stopped  State = "stopped"
	Starting State = "starting"
	Gone     State = "gone"
)

// View is what is known of the machine. Of the drain's view Deadline and Ends are left to
// Next.
type View struct {
	drain.View
	Order Order
	State State
}

// Do is what the cloud is told.
type Do string

// What the cloud is told.
const (
	Nothing Do = ""
	Stop    Do = "stop"
	Start   Do = "start"
)

// Step is what to do now.
type Step struct {
	// Record is written before anything is done.
	Record Record
	Do     Do
	// Drain has the pods that leave now.
	Drain drain.Step
	// Wake is when to look again.
	Wake time.Time
}

// Next takes a restart one step further, or begins it.
func Next(v View) Step {
	r := Of(v.Node.Claim)
	now := v.Now.UTC().Truncate(time.Second)
	if !r.UnderWay() {
		r = Record{Kind: v.Order.Kind, Boot: bootOf(v.Node.Object), Begun: now}
	}
	s := Step{Record: r, Wake: v.Now.Add(Poll)}
	switch {
	case v.State == Gone:
		return s // without its machine the claim goes anyway
	case r.Stop.IsZero():
		s.empty(v, now)
	case r.Start.IsZero():
		s.stop(v, now)
	default:
		s.start(v, now)
	}
	return s
}

// empty has the pods leave, and then the instance stop. One that the cloud has stopped by
// itself is as far already.
func (s *Step) empty(v View, now time.Time) {
	for _, e := range v.Order.Events {
		if !s.Record.Serves(e) {
			s.Record.Events = append(slices.Clip(s.Record.Events), e)
		}
	}
	if v.State != Running {
		s.Record.Stop = now
		return
	}
	late := !v.Order.StopBy.IsZero() && !v.Now.Before(v.Order.StopBy)
	if s.Drain = leave(v, s.Record.Begun); s.Drain.Phase != "" && !late {
		s.Wake = s.Drain.Wake
		if by := v.Order.StopBy; !by.IsZero() && by.Before(s.Wake) {
			s.Wake = by
		}
		return
	}
	s.Drain = drain.Step{}
	s.Record.Stop, s.Do = now, Stop
}

// leave is what the pods of a machine do before it stops.
func leave(v View, since time.Time) drain.Step {
	in := v.View
	in.Ends = v.Order.StopBy
	node, claim := *v.Node, *v.Node.Claim
	if grace := claim.TerminationGracePeriod; grace != nil && !v.Order.IgnoreGracePeriod {
		in.Deadline = since.Add(*grace)
	}
	claim.Annotations = maps.Clone(claim.Annotations)
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[drain.IgnoresAnnotation] = v.Order.Ignores
	node.Claim = &claim
	in.Node = &node
	return drain.Empty(in, since, v.Order.KeepPods)
}

// stop tells the instance to stop until it has.
func (s *Step) stop(v View, now time.Time) {
	switch {
	case v.State == Stopped:
		s.Record.Start, s.Do = now, Start
	case s.back(v, now):
	case s.late(v, s.Record.Stop, "it has not stopped"):
	case v.State == Running:
		s.Do = Stop
	}
}

// start tells the instance to start until its Node is back.
func (s *Step) start(v View, now time.Time) {
	switch {
	case s.back(v, now):
	case s.late(v, s.Record.Start, "its Node is not back"):
	case v.State == Stopped:
		s.Do = Start
	}
}

// back ends the restart if the Node is Ready after another boot.
func (s *Step) back(v View, now time.Time) bool {
	boot := bootOf(v.Node.Object)
	if v.State != Running || boot == "" || boot == s.Record.Boot || !snapshot.Ready(v.Node.Object) {
		return false
	}
	s.Record.Done = now
	return true
}

// late gives the restart up if a step has taken too long.
func (s *Step) late(v View, since time.Time, what string) bool {
	timeout := v.Order.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	end := since.Add(timeout)
	if v.Now.Before(end) {
		if end.Before(s.Wake) {
			s.Wake = end
		}
		return false
	}
	s.Record.Failed = fmt.Sprintf("%s after %s", what, strings.TrimSuffix(timeout.String(), "0s"))
	return true
}

func bootOf(n *corev1.Node) string {
	if n == nil {
		return ""
	}
	return n.Status.NodeInfo.BootID
}
