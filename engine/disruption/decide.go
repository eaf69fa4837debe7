package disruption

import (
	"time"

	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Options tune a decision. The zero value is the default.
type Options struct {
	// Settle is how long a machine stays marked before it is removed. It must
	// cover kube-scheduler's view of the node being out of date plus one binding;
	// 1 s to 1 min is sensible, zero is DefaultSettle. Longer keeps empty machines
	// for longer; shorter lets a pod bind to a machine that is being deleted,
	// where it would be evicted at once.
	Settle time.Duration
	// Placement are the options that the provisioning pass uses, so that both
	// count on the same machines for the same pods.
	Placement placement.Options
}

// DefaultSettle is the default of Options.Settle.
const DefaultSettle = 2 * time.Second

// Cause is why a machine is disrupted, in Karpenter's words: as in the reasons
// of a budget and of the DisruptionReason condition.
type Cause string

// Empty is the cause of removing a machine on which nothing runs that would have
// to move.
const Empty Cause = "Empty"

// Causes that a budget can name, in the order in which allowances are listed.
const (
	Drifted       Cause = "Drifted"
	Underutilized Cause = "Underutilized"
)

// Causes lists every cause that budgets know, in order.
func Causes() []Cause { return []Cause{Drifted, Empty, Underutilized} }

// Step is the next thing to do for a command.
type Step string

const (
	// Mark: put the disrupted taint on the node and DisruptionReason on the claim.
	Mark Step = "Mark"
	// Settle: marked, and not for long enough; nothing to do until Recheck.
	Settle Step = "Settle"
	// Remove: delete the claim, after one more look at the live objects.
	Remove Step = "Remove"
)

// Command is one removal.
type Command struct {
	Cause Cause
	Pool  string
	Node  *snapshot.Node
	Step  Step
}

// Verdict is what holds for one machine now.
type Verdict struct {
	Node *snapshot.Node
	// Disrupting is true for a machine on its way out: in a command, or deleted by
	// somebody.
	Disrupting bool
	// Reason is why it is disrupted or why it stays. Its Until is when time alone
	// may change the verdict.
	Reason plan.Reason
}

// Decision is the answer to one snapshot.
type Decision struct {
	// Commands are in the order in which budgets were given out.
	Commands []Command
	// Rollbacks are marked machines that are in no command, by name.
	Rollbacks []*snapshot.Node
	// Verdicts are one for every machine of the snapshot, in its order.
	Verdicts []Verdict
	// Allowances are by pool and cause.
	Allowances []Allowance
	// Eligible counts the machines that qualify for each cause, budgets aside.
	Eligible map[Cause]int
	// Recheck is when time alone may change the decision; zero for never.
	Recheck time.Time

	examiner *examiner
}

// Decide judges every machine of a snapshot.
func Decide(s *snapshot.Snapshot, opts Options) *Decision {
	if opts.Settle == 0 {
		opts.Settle = DefaultSettle
	}
	e := newExaminer(s, opts)
	d := &Decision{Verdicts: make([]Verdict, len(s.Nodes)), Eligible: map[Cause]int{}, examiner: e}
	var candidates []candidate
	for i, n := range s.Nodes {
		reason, blocked := e.ask(n)
		d.Verdicts[i] = Verdict{Node: n, Reason: reason, Disrupting: reason.Code == plan.BeingDeleted}
		if !blocked {
			candidates = append(candidates, e.candidate(i, n))
		}
	}
	d.Eligible[Empty] = len(candidates)
	d.Allowances = Allowances(s)
	d.spend(candidates, s, opts)
	d.rollBack()
	d.Recheck = earliest(s.Now, d.Verdicts)
	return d
}

// Verdict finds the verdict for a machine by node or claim name.
func (d *Decision) Verdict(name string) (Verdict, bool) {
	for _, v := range d.Verdicts {
		if v.Node.Name == name || v.Node.Claim != nil && v.Node.Claim.Name == name {
			return v, true
		}
	}
	return Verdict{}, false
}

// Still asks once more about a machine whose removal is due, in the state in
// which it is known now, with everything else as it was at the decision. It
// says why the machine stays if anything has come between, a mark that is gone
// included.
func (d *Decision) Still(live *snapshot.Node) (reason plan.Reason, stays bool) {
	if reason, blocked := d.examiner.ask(live); blocked {
		return reason, true
	}
	step, until := next(live, d.examiner.s.Now, d.examiner.settle)
	return plan.Reason{Code: plan.Disrupting, Objects: refs(live), Want: string(Empty), Until: until}, step != Remove
}

func (d *Decision) rollBack() {
	for _, v := range d.Verdicts {
		if !v.Disrupting && Marked(v.Node) {
			d.Rollbacks = append(d.Rollbacks, v.Node)
		}
	}
}

func earliest(now time.Time, verdicts []Verdict) time.Time {
	var first time.Time
	for _, v := range verdicts {
		if u := v.Reason.Until; u.After(now) && (first.IsZero() || u.Before(first)) {
			first = u
		}
	}
	return first
}
