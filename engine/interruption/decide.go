package interruption

import (
	"cmp"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
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
	// Evict are pods that leave before the action is due, because its timetable is
	// kept for others; by namespace and name.
	Evict []*snapshot.Pod
	// Deadline ends the drain that is due, whatever holds pods back; zero for none.
	// WriteDeadline is true if the claim neither has nor gets one that is as soon, or if it
	// has one of an event that was moved or is over.
	Deadline      time.Time
	WriteDeadline bool
	// Ignores are the protections of pods that do not count in the drain that is due, as
	// drain.IgnoresAnnotation has them; WriteIgnores is true if the claim does not say so
	// yet, or does of an event that is over.
	Ignores      string
	WriteIgnores bool
	// Ends is when the cloud takes the machine, which goes, at the latest; zero if that
	// is not known. WriteEnds is true if the claim does not say so yet.
	Ends      time.Time
	WriteEnds bool
	// Replace is the request for a replacement that the claim is to carry, nil for
	// none; Keep takes back one that it carries because of an interruption.
	Replace *disruption.Request
	Keep    bool
	// Restart is how the machine is restarted, if that is the action. Asks says that the
	// cloud has not been asked yet whether it can; GiveUp takes back a restart that has not
	// gone so far that the machine was told to stop.
	Restart      *restart.Order
	Asks, GiveUp bool
	// Verdicts are one for every event, the deciding one first: the strongest that is due, or
	// else the one that is due next.
	Verdicts []Verdict
}

// Verdict is what one event means for one machine.
type Verdict struct {
	Event Event
	// Rule is the place of the rule that decides, from one; zero is the default.
	Rule   int
	Action snapshot.InterruptionAction
	// Instead is why the action is not the rule's own, which is Restart; empty if it is.
	Instead string
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

	rule snapshot.InterruptionRule
	// latest is when the action begins at the latest, zero for no such time.
	latest time.Time
	// evict are pods that need not wait for the action; cordon says that the machine
	// takes no new ones meanwhile.
	evict  []*snapshot.Pod
	cordon bool
}

// Decision is the answer about all events.
type Decision struct {
	// Responses are by machine.
	Responses []Response
	// Requests are the DisruptionRequests that are to be written, by name.
	Requests []Request
	// Buckets are the rate limits of the pools of which something begins now.
	Buckets map[string]snapshot.Buckets
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
	d := &Decision{Buckets: map[string]snapshot.Buckets{}}
	index := newIndex(events)
	asked := newRequests(s)
	budgets := eviction.NewBudgets(s.PDBs)
	for _, n := range s.Nodes {
		r := Response{Node: n}
		all := standing(n, index.about(n), events)
		for _, e := range all {
			m := newMatter(s, n, e, all)
			v := m.judge()
			asked.about(m, v, budgets)
			r.Verdicts = append(r.Verdicts, v)
		}
		if len(r.Verdicts) > 0 || Cordoned(n) || replaced(n) || restart.Of(n.Claim).UnderWay() {
			d.Responses = append(d.Responses, r)
		}
	}
	d.pace(s)
	for i := range d.Responses {
		d.Responses[i].combine(s.Now)
	}
	d.Requests = asked.list()
	d.Strays = index.strays()
	d.Recheck = d.recheck(s.Now, asked)
	return d
}

// combine makes one response of the verdicts about a machine.
func (r *Response) combine(now time.Time) {
	slices.SortStableFunc(r.Verdicts, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), soonest(a.Begins, b.Begins), soonest(a.End, b.End))
	})
	r.Action = snapshot.InterruptionIgnore
	for _, v := range r.Verdicts {
		if v.cordon {
			r.take(snapshot.InterruptionCordon)
			r.Evict = v.evict
		}
		if !v.Due {
			continue
		}
		r.take(v.does(now))
		if v.Forced && (r.Deadline.IsZero() || v.End.Before(r.Deadline)) {
			r.Deadline = v.End
		}
	}
	if strength(r.Action) > strength(snapshot.InterruptionCordon) {
		r.Evict = nil
	}
	if r.Action == snapshot.InterruptionTerminate {
		r.Deadline = now
	}
	if r.Node.Claim != nil && (r.Node.Deleting() || strength(r.Action) >= strength(snapshot.InterruptionDrain)) {
		r.deadline(now)
		r.end()
	}
	r.replace(now)
	r.order()
	r.Uncordon = Cordoned(r.Node) && strength(r.Action) < strength(snapshot.InterruptionCordon) && !r.Node.Deleting()
}

// deadline says which deadline the claim of a machine that goes gets, and which
// protections of its pods count.
func (r *Response) deadline(now time.Time) {
	rule := r.rule()
	claim := r.Node.Claim
	if rule.IgnoreGracePeriod && claim.TerminationGracePeriod != nil && r.Deadline.IsZero() {
		r.Deadline = drain.Never
	}
	r.WriteDeadline = !r.Deadline.IsZero() && sooner(claim, r.Deadline, now, rule.IgnoreGracePeriod)
	noted, ok := forced(claim)
	lifted := noted.Equal(drain.Never) && !r.stands(func(v Verdict) bool { return v.rule.IgnoreGracePeriod })
	if ok || lifted {
		// The event takes it along when it is moved or over.
		if grace := claim.TerminationGracePeriod; grace != nil && !rule.IgnoreGracePeriod && !claim.Deleted.IsZero() {
			r.Deadline = slices.MinFunc([]time.Time{r.Deadline, claim.Deleted.Add(*grace)}, soonest)
		}
		r.WriteDeadline = !r.Deadline.Truncate(time.Second).Equal(noted)
	}
	r.Ignores = ignored(&rule)
	r.WriteIgnores = claim.Annotations[drain.IgnoresAnnotation] != r.Ignores &&
		(r.Ignores != "" || !r.stands(func(v Verdict) bool { return ignored(&v.rule) != "" }))
}

// stands reports whether any of the events that are not over is such a one: what has been lifted
// for a drain that has begun stays as long, whether the action is due or not.
func (r *Response) stands(is func(Verdict) bool) bool {
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return !v.Event.Over() && is(v) })
}

// forced is the deadline that an event has forced on a claim, which is when that ends.
func forced(claim *snapshot.Claim) (deadline time.Time, ok bool) {
	deadline, errDeadline := drain.Noted(claim)
	ends, errEnds := drain.Ends(claim)
	return deadline, errDeadline == nil && errEnds == nil && !deadline.IsZero() && deadline.Equal(ends)
}

// rule is the one by which the machine goes; a claim that is being deleted
// otherwise goes by none.
func (r *Response) rule() snapshot.InterruptionRule {
	for _, v := range r.Verdicts {
		if v.Due && limited(v.Action) || r.Node.Deleting() && replaced(r.Node) && v.Action == snapshot.InterruptionReplace && !v.Event.Over() {
			return v.rule
		}
	}
	return snapshot.InterruptionRule{}
}

// end notes when the cloud takes a machine that goes: what is done on its way out has
// to be done by then. A policy that does no more than notify is not to be noticed there.
func (r *Response) end() {
	for _, v := range r.Verdicts {
		counts := !v.Event.Over() && v.Reason.Code != plan.Unconfirmed && strength(v.Action) > strength(snapshot.InterruptionNotify)
		if counts && !v.End.IsZero() && (r.Ends.IsZero() || v.End.Before(r.Ends)) {
			r.Ends = v.End
		}
	}
	noted, err := drain.Ends(r.Node.Claim)
	r.WriteEnds = err != nil || !r.Ends.Truncate(time.Second).Equal(noted)
}

// replaced reports whether a machine's claim asks for a replacement because of an
// interruption.
func replaced(n *snapshot.Node) bool {
	if n.Claim == nil {
		return false
	}
	return disruption.Requested(n.Claim).Cause == disruption.Interrupted
}

func (r *Response) take(a snapshot.InterruptionAction) {
	if strength(a) > strength(r.Action) {
		r.Action = a
	}
}

// does is the action that is done when the verdict's is due: a replacement that has
// not come by the last moment is not waited for.
func (v Verdict) does(now time.Time) snapshot.InterruptionAction {
	if v.Action == snapshot.InterruptionReplace && !v.latest.IsZero() && !now.Before(v.latest) {
		return snapshot.InterruptionDrain
	}
	return v.Action
}

// replace says whether the machine's claim asks for a replacement.
func (r *Response) replace(now time.Time) {
	if r.Node.Claim == nil || r.Node.Deleting() {
		return
	}
	asked := disruption.Requested(r.Node.Claim)
	is, mine := asked.Cause != "", asked.Cause == disruption.Interrupted
	switch {
	case r.Action == snapshot.InterruptionReplace && !is:
		r.Replace = &disruption.Request{Cause: disruption.Interrupted, At: now.UTC().Truncate(time.Second), Why: r.Verdicts[0].Event.title()}
	case mine && strength(r.Action) < strength(snapshot.InterruptionReplace):
		r.Keep = true
	}
}

// rank orders the verdicts about a machine: what is done now, the strongest first, what will
// be done at a time that is known or once it is approved, what is only reported, and the rest.
func rank(v Verdict) int {
	switch {
	case v.Due && v.Action != snapshot.InterruptionNotify:
		return strength(v.Action)
	case !v.Begins.IsZero(), v.Reason.Code == plan.AwaitsApproval:
		return 1
	case v.Due:
		return 0
	}
	return -1
}

// recheck is the next time at which a verdict or a request changes.
func (d *Decision) recheck(now time.Time, asked *requests) time.Time {
	next := asked.recheck
	for _, r := range d.Responses {
		for _, v := range r.Verdicts {
			at := v.Begins
			if v.Due && v.Action == snapshot.InterruptionReplace {
				at = v.latest
			}
			if at.After(now) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next
}
