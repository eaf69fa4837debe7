package interruption

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// matter is one event about one machine, under the rule that decides.
type matter struct {
	s     *snapshot.Snapshot
	n     *snapshot.Node
	event *Event
	rule  snapshot.InterruptionRule
	// place is the rule's among the policy's, from one; zero is the default.
	place int
	// last is when the action begins at the latest, zero without a deadline.
	last time.Time
	// restart is how far the machine's restart has come; instead is why it is not
	// restarted although the rule says so.
	restart restart.Record
	instead string
}

func newMatter(s *snapshot.Snapshot, n *snapshot.Node, e *Event, all []*Event) *matter {
	m := &matter{s: s, n: n, event: e, rule: snapshot.InterruptionRule{Action: snapshot.InterruptionIgnore}}
	if n.Claim == nil {
		return m
	}
	m.rule, m.place = ruleFor(s.Pool(n.Claim.Pool), n, e, all)
	m.restarts()
	if end := e.End(); !end.IsZero() {
		m.last = end.Add(-m.rule.Latest(string(e.Kind)))
		if earliest := m.earliest(); m.last.Before(earliest) {
			m.last = earliest // a short lead time is meant as it is
		}
	}
	return m
}

// earliest is when the action may begin; zero for at once.
func (m *matter) earliest() time.Time {
	if m.rule.LeadTime == nil || m.event.NotBefore.IsZero() {
		return time.Time{}
	}
	return m.event.NotBefore.Add(-*m.rule.LeadTime)
}

// late reports whether the last moment has come.
func (m *matter) late() bool { return !m.last.IsZero() && !m.s.Now.Before(m.last) }

// judge says what the event means for the machine.
func (m *matter) judge() Verdict {
	v := Verdict{Event: *m.event, Rule: m.place, Action: m.rule.Action, Instead: m.instead, End: m.event.End(), rule: m.rule, latest: m.last}
	v.Forced = m.rule.ForceAtDeadline && !v.End.IsZero()
	switch {
	case m.n.Claim == nil:
		v.Reason.Code = plan.NotOurs
	case m.n.Deleting() && !v.Forced && v.Action != snapshot.InterruptionTerminate:
		// only its deadline could still change
		v.Reason = plan.Reason{Code: plan.BeingDeleted, Since: m.n.Claim.Deleted}
	default:
		v.Due, v.Begins, v.Reason = m.due()
	}
	if !v.Due && m.rule.Waiting != nil && mayLeave(v.Reason.Code) {
		v.cordon, v.evict = true, m.others()
	}
	v.Reason.Objects = append(v.Reason.Objects, plan.MachineRefs(m.n)...)
	return v
}

// due decides whether the action is due, when it begins if it is not, and why.
func (m *matter) due() (bool, time.Time, plan.Reason) {
	never, kind := time.Time{}, string(m.event.Kind)
	if r, due, known := m.restarted(); known {
		return due, never, r
	}
	if r, silent := m.idle(); silent {
		return r.Code == plan.InterruptionNoted, never, r
	}
	if m.underway() || m.atRest() {
		return true, never, plan.Reason{Code: plan.Interrupted, Want: string(m.rule.Action), Have: kind, Until: m.event.End()}
	}
	if r, begins, waits := m.unapproved(); waits {
		return false, begins, r
	}
	begins, reason, ok := m.timetable()
	if !ok || m.s.Now.Before(begins) {
		return false, begins, reason
	}
	if held, until := m.heldBy(); held.Code != "" {
		return false, until, held
	}
	if reason.Code != plan.DeadlineComes {
		reason = plan.Reason{Code: plan.Interrupted}
	}
	reason.Want, reason.Have, reason.Until = string(m.rule.Action), kind, m.event.End()
	return true, never, reason
}

// idle is why nothing is ever done about the machine, as things stand.
func (m *matter) idle() (plan.Reason, bool) {
	kind := string(m.event.Kind)
	switch {
	case m.event.Over():
		return plan.Reason{Code: plan.InterruptionOver, Want: kind, Have: string(m.event.State)}, true
	case m.rule.Action == snapshot.InterruptionIgnore:
		return plan.Reason{Code: plan.InterruptionIgnored, Want: kind}, true
	case m.rule.Action == snapshot.InterruptionNotify:
		return plan.Reason{Code: plan.InterruptionNoted, Want: kind}, true
	case m.rule.OnlyConfirmed && !m.event.Confirmed:
		return plan.Reason{Code: plan.Unconfirmed, Want: kind, Have: m.event.Source}, true
	case m.early():
		return plan.Reason{Code: plan.NotInitialized, Want: snapshot.Initialized}, true
	}
	return plan.Reason{}, false
}

// early reports whether the machine is not far enough for the action: there is
// nothing yet to keep pods away from, or to replace.
func (m *matter) early() bool {
	switch m.rule.Action {
	case snapshot.InterruptionCordon, snapshot.InterruptionRestart:
		return !m.n.Initialized()
	case snapshot.InterruptionReplace:
		return !m.n.Initialized() && !m.late()
	}
	return false
}

// underway reports whether the machine leaves by a deadline that an event forces on it:
// no approval, window or budget counts any more.
func (m *matter) underway() bool {
	_, ok := forced(m.n.Claim)
	return ok && m.n.Deleting()
}

// atRest reports whether none of the pods runs there that the timetable is kept
// for.
func (m *matter) atRest() bool {
	return m.rule.Waiting != nil && !slices.ContainsFunc(m.n.Pods, m.waits)
}

func (m *matter) waits(p *snapshot.Pod) bool {
	return p.Active() && m.rule.Waiting.Matches(labels.Set(p.Labels))
}

// mayLeave reports whether pods that the timetable is not kept for leave although
// the action is not due.
func mayLeave(c plan.Code) bool {
	switch c {
	case plan.BeforeLeadTime, plan.OutsideWindow, plan.NoWindowInTime, plan.DeadlineComes, plan.AwaitsApproval, plan.DoNotDisrupt:
		return true
	}
	return false
}

// others are the pods that need not wait, and can be evicted.
func (m *matter) others() []*snapshot.Pod {
	var out []*snapshot.Pod
	for _, p := range m.n.Pods {
		if !m.waits(p) && !p.OfDaemonSet() && eviction.Evictable(p.Pod, m.s.Now) {
			out = append(out, p)
		}
	}
	return out
}

// heldBy finds a pod that the rule waits for, and until when at the latest.
func (m *matter) heldBy() (plan.Reason, time.Time) {
	if !m.rule.RespectDoNotDisrupt || m.late() {
		return plan.Reason{}, time.Time{}
	}
	for _, p := range m.n.Pods {
		until, protected := eviction.Protected(p.Pod, m.s.Now)
		if !protected {
			continue
		}
		if until.IsZero() || !m.last.IsZero() && m.last.Before(until) {
			until = m.last
		}
		return plan.Reason{
			Code: plan.DoNotDisrupt, Objects: []plan.ObjectRef{plan.PodRef(p.Pod)},
			Have: p.Annotations[eviction.DoNotDisruptAnnotation], Until: until,
		}, until
	}
	return plan.Reason{}, time.Time{}
}
