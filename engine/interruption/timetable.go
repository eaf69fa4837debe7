package interruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/window"
)

// timetable is when an action begins, which may be in the past, and what it waits
// for until then. It is never if ok is false.
func (m *matter) timetable() (begins time.Time, reason plan.Reason, ok bool) {
	if begins = m.earliest(); !begins.IsZero() {
		reason = plan.Reason{Code: plan.BeforeLeadTime, Want: m.rule.LeadTime.String(), Until: begins}
	}
	if len(m.rule.Windows) == 0 {
		return begins, reason, true
	}
	from := m.s.Now
	if begins.After(from) {
		from = begins
	}
	opens, err := window.Opens(m.rule.Windows, from)
	missed := !m.last.IsZero() && (err != nil || opens.After(m.last))
	switch {
	case missed && m.rule.LeaveIfTooLate:
		return time.Time{}, plan.Reason{Code: plan.NoWindowInTime, Want: window.Describe(m.rule.Windows), Until: m.event.End()}, false
	case missed:
		return m.last, plan.Reason{Code: plan.DeadlineComes, Want: window.Describe(m.rule.Windows), Have: text(err), Until: m.last}, true
	case err != nil:
		return time.Time{}, plan.Reason{Code: plan.OutsideWindow, Want: window.Describe(m.rule.Windows), Have: text(err)}, false
	case opens.After(from):
		return opens, plan.Reason{Code: plan.OutsideWindow, Want: window.Describe(m.rule.Windows), Until: opens}, true
	}
	return begins, reason, true
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// sooner reports whether a deadline is before the one that a claim has, or will
// get from its grace period once it is deleted, unless that does not count.
func sooner(c *snapshot.Claim, deadline, now time.Time, always bool) bool {
	at, err := drain.Noted(c)
	noted := err == nil && !at.IsZero()
	grace := c.TerminationGracePeriod
	if noted && !(always && grace != nil && at.Equal(c.Deleted.Add(*grace))) {
		return deadline.Truncate(time.Second).Before(at) // as the annotation will have it
	}
	return always || grace == nil || deadline.Before(now.Add(*grace))
}

// CordonTaint keeps new pods away from a machine that the cloud has announced
// something about; its value is the kind. It is a taint of our own, so that a
// cordon of another's is never taken back.
const CordonTaint = "millwright.dev/interruption"

// Cordoned reports whether a machine carries our cordon.
func Cordoned(n *snapshot.Node) bool {
	return n.Object != nil && HasCordon(n.Object)
}

// HasCordon reports whether a Node carries our cordon.
func HasCordon(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == CordonTaint {
			return true
		}
	}
	return false
}
