package disruption

import (
	"slices"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/engine/disruption/drift"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// rule says why a machine stays; found is false when the rule has nothing
// against its removal.
type rule func(e *examiner, n *snapshot.Node) (reason plan.Reason, found bool)

// Rules are asked in order. Later ones may rely on the earlier: a machine that
// passes initialized has a claim and a Node, one that passes pooled has a pool.
var (
	// common are those of every voluntary disruption.
	common = []rule{ours, notDeleted, initialized, pooled, unshared, notFrozen}
	// renewal are those of the causes Drifted and Expired. What protects pods gives
	// way to a termination grace period.
	renewal = slices.Concat(common, []rule{
		nodeMayBeDisrupted, unless(graced, podsMayBeDisrupted), unless(graced, consenting), unless(graced, evictable),
	})
	// dispensable are those of machines that may go for good.
	dispensable = slices.Concat(common, []rule{dynamic, nodeMayBeDisrupted, podsMayBeDisrupted})
	// emptiness are those of the cause Empty.
	emptiness = slices.Concat(dispensable, []rule{notNominated, notReplacing, startedUp, consolidationOn, vacant, evictable, idleLongEnough})
	// consolidating are those of the cause Underutilized, for a machine that is not vacant.
	consolidating = slices.Concat(dispensable, []rule{
		consenting, notNominated, notReplacing, startedUp, consolidationOn, consolidates, settled, oldEnough, cooledDown, evictable, idleLongEnough, priced,
	})
	// emptying are those of a machine whose pods ReplicaSets do best to delete first.
	emptying = slices.Concat(dispensable, []rule{consolidationOn})
	// consolidatingOn are those of a consolidation that is under way: its pods may come
	// and go.
	consolidatingOn = slices.Concat(dispensable, []rule{consenting, consolidationOn, consolidates, evictable})
)

// running are the rules that a command must pass at each step.
func running(c Cause) []rule {
	switch c {
	case Empty:
		return emptiness
	case Drifted:
		return append(slices.Clip(renewal), stillDrifted)
	case Expired:
		return renewal
	case Underutilized:
		return consolidatingOn
	}
	return append([]rule{stillRequested}, urgency...)
}

type examiner struct {
	s         *snapshot.Snapshot
	nominated map[string]*snapshot.Pod // by machine
	// filling are the machines that kube-scheduler fills, by pool.
	filling map[string][]plan.Placement
	// chunks are those of buffers, by the machine that has their room.
	chunks map[string][]*snapshot.Pod
	// counted are the machines that pods of commands count on, with the machine that
	// the pods come from.
	counted map[string]*snapshot.Node
	// replacing are the machines that commands under way launched, with the claim
	// that each is for.
	replacing map[string]*snapshot.Node
	budgets   *eviction.Budgets
	// twins are Nodes without a claim that have the provider ID of a machine, by that.
	twins map[string][]*snapshot.Node
	// started is when the youngest pod of each workload did.
	started func() map[string]time.Time
}

func newExaminer(s *snapshot.Snapshot, planned *plan.Plan) *examiner {
	nominated, chunks := nominations(s, planned)
	return &examiner{
		s: s, nominated: nominated, filling: filled(s, planned), chunks: chunks, counted: map[string]*snapshot.Node{}, replacing: Replacing(s),
		budgets: eviction.NewBudgets(s.PDBs), twins: twins(s),
		started: sync.OnceValue(func() map[string]time.Time { return latestStarts(s) }),
	}
}

// Replacing maps the machines, by name, that were launched for a command to one that they
// are for, as long as that is there.
func Replacing(s *snapshot.Snapshot) map[string]*snapshot.Node {
	leaving := map[string]*snapshot.Node{}
	for _, n := range s.Nodes {
		if n.Claim != nil && n.Claim.Annotations[CommandAnnotation] != "" {
			leaving[progressOf(n).ID] = n
		}
	}
	out := map[string]*snapshot.Node{}
	for _, n := range s.Nodes {
		if n.Claim == nil {
			continue
		}
		if old := leaving[n.Claim.Annotations[snapshot.ReplacesAnnotation]]; old != nil {
			out[n.Name] = old
		}
	}
	return out
}

func (e *examiner) ask(rules []rule, n *snapshot.Node) (plan.Reason, bool) {
	for _, r := range rules {
		if reason, found := r(e, n); found {
			return reason, true
		}
	}
	return plan.Reason{}, false
}

// qualify says for which cause a machine may go, or why it stays.
func (e *examiner) qualify(n *snapshot.Node) (Cause, plan.Reason, bool) {
	reason, blocked := e.ask(emptiness, n)
	cause := Empty
	switch asked, renewed := Requested(n.Claim).Cause, e.renewed(n); {
	case asked != "":
		cause = asked
		reason, blocked = e.ask(urgency, n)
	case !blocked:
	case renewed != "":
		cause = renewed
		reason, blocked = e.ask(renewal, n)
	case reason.Code == plan.HasPods, reason.Code == plan.HasBuffers:
		cause = Underutilized
		reason, blocked = e.ask(consolidating, n)
	default:
		cause = ""
	}
	if !blocked && !pressing(n) {
		reason, blocked = e.ask([]rule{upToDate, inWindow}, n)
	}
	return cause, reason, blocked
}

// renewed is the cause for which a machine should be replaced by one of its kind,
// empty if there is none.
func (e *examiner) renewed(n *snapshot.Node) Cause {
	if n.Claim == nil || n.Deleting() || e.s.Pool(n.Claim.Pool) == nil {
		return ""
	}
	if at := Expires(n.Claim); !at.IsZero() && !e.s.Now.Before(at) {
		return Expired
	}
	if drift.Find(e.s.Pool(n.Claim.Pool), n.Claim, e.s.Now) != "" {
		return Drifted
	}
	return ""
}

// unless leaves a rule out for the machines that a condition holds for.
func unless(holds func(*snapshot.Node) bool, r rule) rule {
	return func(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
		if holds(n) {
			return plan.Reason{}, false
		}
		return r(e, n)
	}
}

// graced reports whether the drain of a machine ends whatever its pods say.
func graced(n *snapshot.Node) bool { return n.Claim.TerminationGracePeriod != nil }

func stillDrifted(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	return plan.Reason{Code: plan.RolledBack, Objects: plan.MachineRefs(n), Have: "it no longer drifts"}, e.renewed(n) == ""
}
