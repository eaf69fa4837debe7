package interruption

import (
	"cmp"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Response is what is done about one machine.
type Response struct {
	Node *snapshot.Node
	// Action is the strongest that is due now; Ignore if none is. Uncordon is true if
	// the machine carries our cordon and nothing asks for it any more.
	Action   snapshot.InterruptionAction
	Uncordon bool
	// Deadline ends the drain that is due, whatever holds pods back; zero for none.
	Deadline time.Time
	// Verdicts are one for every event, the deciding one first.
	Verdicts []Verdict
}

// Verdict is what one event means for one machine.
type Verdict struct {
	Event Event
	// Rule is the place of the rule that decides, from one; zero is the default.
	Rule   int
	Action snapshot.InterruptionAction
	// Due is true if the action is to be done now.
	Due bool
	// Begins is when it does; zero for at once, and for never.
	Begins time.Time
	// End is when the cloud acts at the latest, zero if unknown. Forced says that
	// pods that are left then are made to go in time; else they end with the machine.
	End    time.Time
	Forced bool
	// Reason is why the action is due, or why it is not.
	Reason plan.Reason
}

// Decision is the answer about all events.
type Decision struct {
	// Responses are by machine.
	Responses []Response
	// Strays are the events about no machine of the snapshot, by ID.
	Strays []Event
	// Recheck is when time alone changes the answer; zero for never.
	Recheck time.Time
}

// Decide answers the events that stand at present, in any order. Machines with a
// cordon of ours that no event is about any more are among the responses.
func Decide(s *snapshot.Snapshot, events []Event) *Decision {
	events = slices.Clone(events)
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Machine, b.Machine), a.Issued.Compare(b.Issued))
	})
	d := &Decision{}
	found := make([]bool, len(events))
	for _, n := range s.Nodes {
		r := Response{Node: n, Action: snapshot.InterruptionIgnore}
		for i := range events {
			if events[i].About(n) {
				found[i] = true
				r.Verdicts = append(r.Verdicts, judge(s, n, events[i]))
			}
		}
		if len(r.Verdicts) > 0 || Cordoned(n) {
			d.add(r)
		}
	}
	for i, e := range events {
		if !found[i] {
			d.Strays = append(d.Strays, e)
		}
	}
	return d
}

// add combines the verdicts about a machine.
func (d *Decision) add(r Response) {
	slices.SortStableFunc(r.Verdicts, func(a, b Verdict) int { return cmp.Compare(rank(b), rank(a)) })
	for _, v := range r.Verdicts {
		if v.Begins.After(time.Time{}) && !v.Due && (d.Recheck.IsZero() || v.Begins.Before(d.Recheck)) {
			d.Recheck = v.Begins
		}
		if !v.Due {
			continue
		}
		if strength(v.Action) > strength(r.Action) {
			r.Action = v.Action
		}
		if v.Forced && (r.Deadline.IsZero() || v.End.Before(r.Deadline)) {
			r.Deadline = v.End
		}
	}
	r.Uncordon = Cordoned(r.Node) && strength(r.Action) < strength(snapshot.InterruptionCordon) && !r.Node.Deleting()
	d.Responses = append(d.Responses, r)
}

func rank(v Verdict) int {
	if !v.Due {
		return -1
	}
	return strength(v.Action)
}

// judge says what one event means for one machine.
func judge(s *snapshot.Snapshot, n *snapshot.Node, e Event) Verdict {
	v := Verdict{Event: e, End: e.End()}
	object := objects(n)
	if n.Claim == nil {
		v.Action, v.Reason = snapshot.InterruptionIgnore, plan.Reason{Code: plan.NotOurs, Objects: object}
		return v
	}
	var r snapshot.InterruptionRule
	r, v.Rule = ruleFor(s.Pool(n.Claim.Pool), n, &e)
	v.Action, v.Forced = r.Action, r.ForceAtDeadline && !v.End.IsZero()
	if n.Deleting() && !v.Forced && v.Action != snapshot.InterruptionTerminate {
		v.Reason = plan.Reason{Code: plan.BeingDeleted, Objects: object, Since: n.Claim.Deleted}
		return v // only its deadline could still change
	}
	v.Due, v.Begins, v.Reason = due(s, n, &e, &r)
	v.Reason.Objects = append(v.Reason.Objects, object...)
	return v
}

// due decides whether an action is due, when it begins if it is not, and why.
func due(s *snapshot.Snapshot, n *snapshot.Node, e *Event, r *snapshot.InterruptionRule) (bool, time.Time, plan.Reason) {
	never := time.Time{}
	switch {
	case e.Over():
		return false, never, plan.Reason{Code: plan.InterruptionOver, Want: string(e.Kind), Have: string(e.State)}
	case r.Action == snapshot.InterruptionIgnore:
		return false, never, plan.Reason{Code: plan.InterruptionIgnored, Want: string(e.Kind)}
	case r.Action == snapshot.InterruptionNotify:
		return true, never, plan.Reason{Code: plan.InterruptionNoted, Want: string(e.Kind)}
	case r.OnlyConfirmed && !e.Confirmed:
		return false, never, plan.Reason{Code: plan.Unconfirmed, Want: string(e.Kind), Have: e.Source}
	case r.Action == snapshot.InterruptionCordon && !n.Initialized():
		return false, never, plan.Reason{Code: plan.NotInitialized, Want: snapshot.Initialized}
	}
	begins, reason, ok := timetable(s.Now, e, r)
	if !ok || s.Now.Before(begins) {
		return false, begins, reason
	}
	if held, until := heldBy(s, n, e, r); held.Code != "" {
		return false, until, held
	}
	if reason.Code != plan.DeadlineComes {
		reason = plan.Reason{Code: plan.Interrupted}
	}
	reason.Want, reason.Have, reason.Until = string(r.Action), string(e.Kind), e.End()
	return true, never, reason
}
