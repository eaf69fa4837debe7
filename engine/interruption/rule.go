package interruption

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Default is what is done about a kind where no rule matches: Karpenter's table.
func Default(k Kind) snapshot.InterruptionAction {
	switch k {
	case Spot, Reservation, Maintenance, Stopped, Terminated:
		return snapshot.InterruptionDrain
	case InstanceImpaired, SystemImpaired:
		return snapshot.InterruptionTerminate
	case Rebalance, ZoneImpaired, VolumeImpaired, ServiceIssue:
		return snapshot.InterruptionNotify
	}
	return snapshot.InterruptionIgnore
}

// strength orders actions from the mildest.
func strength(a snapshot.InterruptionAction) int {
	return slices.Index([]snapshot.InterruptionAction{
		snapshot.InterruptionIgnore, snapshot.InterruptionNotify, snapshot.InterruptionCordon,
		snapshot.InterruptionRestart, snapshot.InterruptionReplace, snapshot.InterruptionDrain, snapshot.InterruptionTerminate,
	}, a)
}

// ruleFor finds the rule that decides about an event on a machine, and its place
// among the policy's from one; zero is the table. All are the events about the machine: a
// rule that leaves it to announced maintenance also leaves it to the stop that follows,
// unless another rule is for stops. EC2 starts such a machine again, with its volumes; one
// that was to be restarted is started.
func ruleFor(p *snapshot.Pool, n *snapshot.Node, e *Event, all []*Event) (snapshot.InterruptionRule, int) {
	if r, place := explicit(p, n, e); place > 0 {
		return r, place
	}
	if e.Kind == Stopped {
		for _, cause := range all {
			if r, place := explicit(p, n, cause); place > 0 && announcesStop(cause) && leaves(&r) {
				switch {
				case r.Action == snapshot.InterruptionRestart:
					r = snapshot.InterruptionRule{Action: r.Action, RestartTimeout: r.RestartTimeout}
				case strength(r.Action) > strength(snapshot.InterruptionCordon):
					r.Action = snapshot.InterruptionIgnore
				}
				return r, place
			}
		}
	}
	return snapshot.InterruptionRule{Action: Default(e.Kind)}, 0
}

// explicit is the policy's rule about an event; its place is zero if there is none.
func explicit(p *snapshot.Pool, n *snapshot.Node, e *Event) (snapshot.InterruptionRule, int) {
	if p == nil {
		return snapshot.InterruptionRule{}, 0
	}
	for i := range p.Policy.Interruption.Rules {
		if r := &p.Policy.Interruption.Rules[i]; matches(r, n, e) {
			return *r, i + 1
		}
	}
	return snapshot.InterruptionRule{}, 0
}

// leaves reports whether a rule leaves the machine where it is: in any case, or when its
// windows come too late.
func leaves(r *snapshot.InterruptionRule) bool {
	return strength(r.Action) <= strength(snapshot.InterruptionRestart) || r.LeaveIfTooLate
}

// announcesStop reports whether the machine stops when the event comes about.
func announcesStop(e *Event) bool {
	return e.Kind == Maintenance && e.State != Cancelled && slices.Contains([]Code{Stop, Retirement, Power}, e.Code)
}

// Sequel is what the cloud announces when an event comes about with the machine still
// there, as of then: the stop after maintenance, the end after a spot interruption. False
// if there is nothing more, or no time is known.
func (e *Event) Sequel() (Event, bool) {
	next := Event{ID: e.ID + "/comes-about", Machine: e.Machine, NotBefore: e.End(), Deadline: e.End(), Issued: e.End(), Confirmed: true, Source: e.Source}
	switch {
	case next.Deadline.IsZero() || e.Over():
		return Event{}, false
	case announcesStop(e):
		next.Kind = Stopped
	case e.Kind == Spot:
		next.Kind = Terminated
	default:
		return Event{}, false
	}
	return next, true
}

// Stays reports whether what is due leaves the machine where it is.
func (r Response) Stays() bool {
	return strength(r.Action) <= strength(snapshot.InterruptionCordon)
}

func matches(r *snapshot.InterruptionRule, n *snapshot.Node, e *Event) bool {
	if !slices.Contains(r.Events, string(e.Kind)) && !slices.Contains(r.Events, snapshot.AnyEvent) {
		return false
	}
	if len(r.Codes) > 0 && !slices.Contains(r.Codes, string(e.Code)) {
		return false
	}
	return r.Pods == nil || slices.ContainsFunc(n.Pods, func(p *snapshot.Pod) bool {
		return p.Active() && r.Pods.Matches(labels.Set(p.Labels))
	})
}
