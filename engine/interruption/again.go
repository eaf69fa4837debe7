package interruption

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// standing are the events about a machine. A stop that its own restart has caused, or that
// it has come back from, is over; what it is being restarted for stands until it is back,
// whatever the cloud says meanwhile.
func standing(n *snapshot.Node, about []int, events []Event) []*Event {
	r := restart.Of(n.Claim)
	var out []*Event
	for _, i := range about {
		e := events[i]
		switch serves := r.Committed() && r.Serves(e.ID); {
		case serves && e.Over():
			e.State = Announced
		case !serves && e.Kind == Stopped && (r.Caused(e.Issued) || cameBack(n, e.Issued)):
			e.State = Completed
		}
		out = append(out, &e)
	}
	if r.Committed() && !slices.ContainsFunc(out, func(e *Event) bool { return r.Serves(e.ID) }) {
		out = append(out, &Event{ID: r.Events[0], Kind: Kind(r.Kind), Machine: providerID(n)})
	}
	return out
}

// cameBack reports whether the Node has become Ready after a time.
func cameBack(n *snapshot.Node, since time.Time) bool {
	if n.Object == nil || since.IsZero() {
		return false
	}
	return slices.ContainsFunc(n.Object.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(since)
	})
}

// restarts has a restart that is under way go before what the rule says, and what it comes
// to follow: a machine that cannot be restarted is replaced, one that is not back goes.
func (m *matter) restarts() {
	m.restart = restart.Of(m.n.Claim)
	served := m.restart.Serves(m.event.ID)
	switch {
	case m.restart.Failed != "" && served:
		m.rule.Action = snapshot.InterruptionDrain
	case m.restart.Committed() && served && m.rule.Action != snapshot.InterruptionRestart:
		m.rule, m.place = snapshot.InterruptionRule{Action: snapshot.InterruptionRestart}, 0
	case m.restart.Refused != "" && m.rule.Action == snapshot.InterruptionRestart:
		m.rule.Action, m.instead = snapshot.InterruptionReplace, m.restart.Refused
	}
}

// restarted is what the machine's restart makes of the event, if it is for it: whether the
// action is due, and why.
func (m *matter) restarted() (r plan.Reason, due, known bool) {
	switch {
	case !m.restart.Serves(m.event.ID) || m.event.Over():
		return r, false, false
	case m.restart.Failed != "":
		return plan.Reason{Code: plan.RestartFailed, Have: m.restart.Failed}, true, true
	case m.rule.Action != snapshot.InterruptionRestart:
		return r, false, false
	case m.restart.UnderWay():
		return plan.Reason{Code: plan.Restarting, Have: m.restart.Phase(), Since: m.restart.Begun}, true, true
	}
	return plan.Reason{Code: plan.Restarted, Since: m.restart.Done}, false, true
}

// order says how the machine is restarted, or that it is not any more.
func (r *Response) order() {
	if r.Node.Claim == nil || r.Node.Deleting() {
		return
	}
	record := restart.Of(r.Node.Claim)
	r.GiveUp = record.UnderWay() && !record.Committed() && r.Action != snapshot.InterruptionRestart
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Action != snapshot.InterruptionRestart || v.Event.Over() {
			continue
		}
		r.Asks = r.Asks || record.Begun.IsZero()
		if !v.Due || r.Action != snapshot.InterruptionRestart {
			continue
		}
		if r.Restart == nil {
			r.Restart = &restart.Order{
				Kind: string(v.Event.Kind), KeepPods: v.rule.KeepPods, Timeout: v.rule.RestartTimeout, StopBy: v.stopBy(),
				Ignores: ignored(&v.rule), IgnoreGracePeriod: v.rule.IgnoreGracePeriod,
			}
		}
		r.Restart.Events = append(r.Restart.Events, v.Event.ID)
	}
}

// stopBy is when a machine that restarts is told to stop although pods are left: half of the
// time that was reserved is for its way back.
func (v *Verdict) stopBy() time.Time {
	if v.End.IsZero() {
		return time.Time{}
	}
	return v.End.Add(-v.rule.Latest(string(v.Event.Kind)) / 2)
}

// ignored are the protections of pods that do not count, as drain.IgnoresAnnotation has them.
func ignored(rule *snapshot.InterruptionRule) string {
	var out []string
	if rule.EvictDoNotDisrupt {
		out = append(out, drain.ProtectedPods)
	}
	if rule.IgnoreBudgets {
		out = append(out, drain.GuardedPods)
	}
	return strings.Join(out, ",")
}
