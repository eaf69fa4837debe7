package interruption

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Keep is how long a request that is over is kept for people to look at.
const Keep = 24 * time.Hour

// Request is a DisruptionRequest as it should be.
type Request struct {
	snapshot.Request
	// Missing is true for one that does not exist yet, Drop for one that was over for
	// long enough.
	Missing, Drop bool
	// Message says what will happen, Unanswered what happens without an answer.
	Message, Unanswered string
	Kind                Kind
	Node, Pool, Zone    string
	// Begins is when the action would begin if it were approved now, zero for at once;
	// Deadline when the cloud acts; Expires when the request ends without an answer.
	Begins, Deadline, Expires time.Time
	// Movers counts the pods that would have to move; Pods are the first of all that
	// are concerned. Both are only told while there is no answer.
	Movers int
	Pods   []PodFate
}

// subject is what a request is about.
type subject struct {
	claim, event string
	action       snapshot.InterruptionAction
}

// name is that of the request about a subject.
func (q subject) name() string {
	h := fnv.New32a()
	fmt.Fprint(h, q.event, "\x00", q.action)
	return fmt.Sprintf("%s-%08x", q.claim, h.Sum32())
}

func (m *matter) subject() subject { return subject{m.n.Claim.Name, m.event.ID, m.rule.Action} }

// answer is what people have said: who denies wins. An approval ends when its request is
// withdrawn.
func (m *matter) answer() (by string, d snapshot.Decision) {
	by = m.subject().name()
	for _, r := range m.s.Requests {
		about := subject{r.Claim, r.Event, r.Action}
		if about != m.subject() {
			continue
		}
		if r.Decision == snapshot.Deny || r.Decision == snapshot.Approve && r.Phase != snapshot.RequestWithdrawn && d == "" {
			by, d = r.Name, r.Decision
		}
	}
	return by, d
}

// expires is when a request ends without an answer, zero for never.
func (m *matter) expires() time.Time {
	if m.rule.Approval == snapshot.ApprovalUntilDeadline {
		return m.last
	}
	return m.event.End()
}

// unapproved is what an action waits for that needs an approval and has none, and
// when it begins without.
func (m *matter) unapproved() (plan.Reason, time.Time, bool) {
	never := time.Time{}
	if m.rule.Approval == "" {
		return plan.Reason{}, never, false
	}
	by, answer := m.answer()
	r := plan.Reason{Code: plan.AwaitsApproval, Objects: []plan.ObjectRef{{Kind: "DisruptionRequest", Name: by}}, Until: m.expires()}
	expired := !r.Until.IsZero() && !m.s.Now.Before(r.Until)
	until := m.rule.Approval == snapshot.ApprovalUntilDeadline
	switch {
	case answer == snapshot.Approve, answer == "" && expired && until:
		return plan.Reason{}, never, false
	case answer == snapshot.Deny:
		r.Code, r.Until = plan.ApprovalDenied, never
	case expired:
		r.Code, r.Until = plan.ApprovalExpired, never
	case until:
		return r, r.Until, true
	}
	return r, never, true
}

// requests are those that exist and those that should.
type requests struct {
	now     time.Time
	s       *snapshot.Snapshot
	want    map[string]Request
	recheck time.Time
}

func newRequests(s *snapshot.Snapshot) *requests {
	return &requests{now: s.Now, s: s, want: map[string]Request{}}
}

// about says how the request about a matter should be, if there is to be one.
func (q *requests) about(m *matter, v Verdict, budgets *eviction.Budgets) {
	if m.n.Claim == nil || m.rule.Approval == "" || m.event.Over() || m.n.Deleting() {
		return
	}
	if _, silent := m.idle(); silent {
		return
	}
	name, answer := m.answer()
	r := Request{
		Request: snapshot.Request{Name: name, Claim: m.n.Claim.Name, Event: m.event.ID, Action: m.rule.Action, Decision: answer, Since: m.s.Now},
		Kind:    m.event.Kind, Node: m.n.Name, Pool: m.n.Claim.Pool, Zone: zone(m.n), Deadline: m.event.End(), Expires: m.expires(),
	}
	r.Begins, _, _ = m.timetable()
	r.Phase = m.phase(answer, v)
	r.Message, r.Unanswered = m.words(v, r.Begins), m.otherwise()
	if r.Phase == snapshot.RequestProposed {
		r.Movers, r.Pods = fates(m, budgets)
		q.by(r.Expires)
	}
	q.put(r)
}

// put takes a request over from the one that exists. One that was approved and withdrawn is
// deleted, so that the next look asks anew.
func (q *requests) put(r Request) {
	i := slices.IndexFunc(q.s.Requests, func(old *snapshot.Request) bool { return old.Name == r.Name })
	switch {
	case i < 0:
		r.Missing = true
	case q.s.Requests[i].Phase == snapshot.RequestWithdrawn && q.s.Requests[i].Decision == snapshot.Approve:
		r = Request{Request: *q.s.Requests[i], Drop: true}
	case q.s.Requests[i].Phase == r.Phase:
		r.Since = q.s.Requests[i].Since
	}
	q.want[r.Name] = r
}

func (q *requests) by(at time.Time) {
	if at.After(q.now) && (q.recheck.IsZero() || at.Before(q.recheck)) {
		q.recheck = at
	}
}

// phase is how a request stands whose event does.
func (m *matter) phase(answer snapshot.Decision, v Verdict) snapshot.RequestPhase {
	expires := m.expires()
	switch {
	case answer == snapshot.Deny:
		return snapshot.RequestDenied
	case answer == snapshot.Approve && v.Due && m.rule.Action == snapshot.InterruptionCordon && Cordoned(m.n):
		return snapshot.RequestDone
	case v.Reason.Code == plan.Restarted:
		return snapshot.RequestDone
	case answer == snapshot.Approve:
		return snapshot.RequestApproved
	case !expires.IsZero() && !m.s.Now.Before(expires):
		return snapshot.RequestExpired
	}
	return snapshot.RequestProposed
}

// words say what will be done.
func (m *matter) words(v Verdict, begins time.Time) string {
	when := "at once"
	if begins.After(m.s.Now) {
		when = "at " + stamp(begins)
	}
	what := fmt.Sprintf("%s of node %s because of %s", m.rule.Action, m.n.Name, m.event.title())
	if v.Reason.Code == plan.AwaitsApproval {
		return fmt.Sprintf("%s, once approved: %s", what, when)
	}
	return fmt.Sprintf("%s: %s", what, v.Reason.Message())
}

// otherwise says what happens without an answer.
func (m *matter) otherwise() string {
	expires := m.expires()
	switch {
	case expires.IsZero():
		return "nothing is done, however long it takes"
	case m.rule.Approval == snapshot.ApprovalUntilDeadline:
		return fmt.Sprintf("it begins at %s all the same", stamp(expires))
	}
	return fmt.Sprintf("nothing is done, and the cloud acts at %s on whatever is left there", stamp(expires))
}

// list is what is to be written: requests as they should be, and what becomes of
// those that nothing asks for any more.
func (q *requests) list() []Request {
	for _, old := range q.s.Requests {
		if _, wanted := q.want[old.Name]; wanted || old.Phase == "" {
			continue // one that was written by hand waits for its event
		}
		r := Request{Request: *old, Node: old.Claim}
		n := q.s.Node(old.Claim)
		gone := n == nil || n.Deleting()
		done := gone || old.Action == snapshot.InterruptionRestart && !restart.Of(n.Claim).Done.IsZero() && restart.Of(n.Claim).Serves(old.Event)
		switch {
		case old.Phase == snapshot.RequestApproved && done:
			r.Phase, r.Message = snapshot.RequestDone, fmt.Sprintf("%s was approved and carried out", old.Action)
		case old.Phase == snapshot.RequestApproved, old.Phase == snapshot.RequestProposed:
			r.Phase, r.Message = snapshot.RequestWithdrawn, withdrawn(gone)
		case !q.now.Before(old.Since.Add(Keep)):
			r.Drop = true
		default:
			q.by(old.Since.Add(Keep))
			continue
		}
		if r.Phase != old.Phase {
			r.Since = q.now
		}
		q.want[old.Name] = r
	}
	return slices.SortedFunc(maps.Values(q.want), func(a, b Request) int { return cmp.Compare(a.Name, b.Name) })
}

func withdrawn(gone bool) string {
	if gone {
		return "the machine goes for another reason"
	}
	return "nothing asks for it any more: the event is over, or the policy has changed"
}
