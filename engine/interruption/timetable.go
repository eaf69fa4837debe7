package interruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// timetable is when an action begins, which may be in the past, and what it waits
// for until then. It is never if ok is false.
func timetable(now time.Time, e *Event, r *snapshot.InterruptionRule) (begins time.Time, reason plan.Reason, ok bool) {
	if r.LeadTime != nil && !e.NotBefore.IsZero() {
		begins = e.NotBefore.Add(-*r.LeadTime)
		reason = plan.Reason{Code: plan.BeforeLeadTime, Want: r.LeadTime.String(), Until: begins}
	}
	last := latest(e, r)
	if !last.IsZero() && last.Before(begins) {
		last = begins // a short lead time is meant as it is
	}
	if r.Window == nil {
		return begins, reason, true
	}
	from := now
	if begins.After(from) {
		from = begins
	}
	opens, err := Opens(r.Window, from)
	missed := !last.IsZero() && (err != nil || opens.After(last))
	switch {
	case missed && r.LeaveIfTooLate:
		return time.Time{}, plan.Reason{Code: plan.NoWindowInTime, Want: describe(r.Window), Until: e.End()}, false
	case missed:
		return last, plan.Reason{Code: plan.DeadlineComes, Want: describe(r.Window), Have: text(err), Until: last}, true
	case err != nil:
		return time.Time{}, plan.Reason{Code: plan.OutsideWindow, Want: describe(r.Window), Have: text(err)}, false
	case opens.After(from):
		return opens, plan.Reason{Code: plan.OutsideWindow, Want: describe(r.Window), Until: opens}, true
	}
	return begins, reason, true
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// latest is when an action begins at the latest, zero without a deadline.
func latest(e *Event, r *snapshot.InterruptionRule) time.Time {
	if e.End().IsZero() {
		return time.Time{}
	}
	return e.End().Add(-r.Latest())
}

// heldBy finds a pod that the rule waits for, and until when at the latest.
func heldBy(s *snapshot.Snapshot, n *snapshot.Node, e *Event, r *snapshot.InterruptionRule) (plan.Reason, time.Time) {
	last := latest(e, r)
	if !r.RespectDoNotDisrupt || !last.IsZero() && !s.Now.Before(last) {
		return plan.Reason{}, time.Time{}
	}
	for _, p := range n.Pods {
		until, protected := eviction.Protected(p.Pod, s.Now)
		if !protected {
			continue
		}
		if until.IsZero() || !last.IsZero() && last.Before(until) {
			until = last
		}
		return plan.Reason{
			Code: plan.DoNotDisrupt, Objects: []plan.ObjectRef{{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}},
			Have: p.Annotations[eviction.DoNotDisruptAnnotation], Until: until,
		}, until
	}
	return plan.Reason{}, time.Time{}
}

// CordonTaint keeps new pods away from a machine that the cloud has announced
// something about; its value is the kind. It is a taint of our own, so that a
// cordon of somebody else's is never taken back.
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

// objects names a machine: its Node, then its claim.
func objects(n *snapshot.Node) []plan.ObjectRef {
	var out []plan.ObjectRef
	if n.Object != nil {
		out = append(out, plan.ObjectRef{Kind: "Node", Name: n.Object.Name})
	}
	if n.Claim != nil {
		out = append(out, plan.ObjectRef{Kind: "NodeClaim", Name: n.Claim.Name})
	}
	return out
}
