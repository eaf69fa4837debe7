package disruption

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/disruption/deletioncost"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Cause is why a machine is disrupted, in Karpenter's words: as in the reasons
// of a budget and of the DisruptionReason condition.
type Cause string

// The voluntary causes. A budget cannot name Expired, which is covered by those that
// name nothing.
const (
	// Drifted: the machine is no longer what its pool asks for.
	Drifted Cause = "Drifted"
	// Empty: nothing runs there that would have to move.
	Empty Cause = "Empty"
	// Expired: the machine has reached its pool's greatest age.
	Expired Cause = "Expired"
	// Underutilized: its pods fit elsewhere, or on something cheaper.
	Underutilized Cause = "Underutilized"
)

// Causes lists every voluntary cause, in order; urgent ones are in UrgentCauses.
func Causes() []Cause { return []Cause{Drifted, Empty, Expired, Underutilized} }

// Disruptable is the condition of a claim that shows its machine's verdict: True,
// with the cause, while it is on its way out, else False with the reason's code.
const Disruptable = "Disruptable"

// Step is the next thing to do for a command.
type Step string

const (
	// Mark: put the disrupted taint on the nodes, and the command and
	// DisruptionReason on the claims.
	Mark Step = "Mark"
	// Settle: marked, and not for long enough; nothing to do until Recheck.
	Settle Step = "Settle"
	// Launch: create the claims of Launch and note them on the old ones.
	Launch Step = "Launch"
	// Await: the replacements are on their way.
	Await Step = "Await"
	// Remove: delete the claims, after one more look at the live objects.
	Remove Step = "Remove"
)

// Command is machines that go together, and what comes in their place.
type Command struct {
	Progress
	// Pool is the first machine's.
	Pool  string
	Nodes []*snapshot.Node
	Step  Step
	// Launch are the machines to ask for if the step is Launch, or that are
	// expected to be asked for if it is Mark.
	Launch []plan.NewNode
	// First is why its machine goes before the replacement is launched; nil if it does not.
	First *plan.Reason
	// Placements are where pods are expected to go that need none of those, for a
	// consolidation that begins.
	Placements []plan.Placement
}

// Rollback takes the marks off a machine.
type Rollback struct {
	Node *snapshot.Node
	// Reason is why its command is off.
	Reason plan.Reason
	// Failures counts the replacements of the machine's pool with its Template that did not become
	// ready in a row, this one included; zero if that is not the reason.
	Failures int
	Template string
	// Discard are replacements of the command that are not initialized and have no pods
	// that would have to move: they are not wanted any more.
	Discard []*snapshot.Node
}

// Verdict is what holds for one machine now.
type Verdict struct {
	Node *snapshot.Node
	// Disrupting is true for a machine on its way out: in a command, or deleted by
	// others.
	Disrupting bool
	// Cause is why it is disrupted, or for which cause it would qualify if its
	// Reason did not hold; empty if for none.
	Cause Cause
	// Reason is why it is disrupted or why it stays. Its Until is when time alone
	// may change the verdict.
	Reason plan.Reason
	// Saving is what its removal or replacement saves in $/h, or would save if the
	// Reason did not hold, as far as that is known.
	Saving float64
}

// Outdates reports whether what was said of the machine before is not so any more: its time
// has passed, a setting that it names is another, or a pod that it names is gone or elsewhere.
// Prices change all the time and outdate nothing.
func (v Verdict) Outdates(was plan.Reason, s *snapshot.Snapshot) bool {
	if was.Message() == v.Reason.Message() {
		return false
	}
	prices := v.Reason.Code == plan.SavingTooSmall || v.Reason.Code == plan.NothingCheaper
	if !was.Until.IsZero() && !s.Now.Before(was.Until) || was.Want != v.Reason.Want && !prices {
		return true
	}
	return slices.ContainsFunc(was.Objects, func(o plan.ObjectRef) bool {
		named := func(p *snapshot.Pod) bool { return p.Namespace == o.Namespace && p.Name == o.Name }
		return o.Kind == "Pod" && !slices.ContainsFunc(v.Node.Pods, named) && !slices.ContainsFunc(s.Pending, named)
	})
}

// Decision is the answer to one snapshot.
type Decision struct {
	// Commands are in the order in which budgets were given out.
	Commands []Command
	// Overdue are machines whose last deadline has passed: they are removed whatever
	// budgets and pods say.
	Overdue []Overdue
	// Rollbacks are marked machines that are in no command, by name.
	Rollbacks []Rollback
	// Verdicts are one for every machine of the snapshot, in its order.
	Verdicts []Verdict
	// Refusals are pods that kube-scheduler does not put where they are planned, to be
	// noted on them; Agreed have such a note and have a node by now.
	Refusals []nomination.Refusal
	Agreed   []*snapshot.Pod
	// DeletionCosts are pods that are to have another deletion cost.
	DeletionCosts []deletioncost.Change
	// Allowances are by pool and cause.
	Allowances []Allowance
	// Eligible counts the machines that qualify for each cause, budgets aside.
	Eligible map[Cause]int
	// Recheck is when time alone may change the decision; zero for never.
	Recheck time.Time

	examiner *examiner
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

// Still asks once more about a machine of a command whose removal is due, in the
// state in which it is known now, with everything else as it was at the decision.
// It says why the machine stays if anything has come between: a mark that is gone,
// or a pod that is not planned for. It is safe for concurrent use.
func (d *Decision) Still(c Command, live *snapshot.Node) (reason plan.Reason, stays bool) {
	if reason, blocked := d.examiner.ask(running(c.Cause), live); blocked {
		return reason, true
	}
	if p := unplanned(c, live); p != nil {
		return plan.Reason{Code: plan.HasPods, Objects: []plan.ObjectRef{plan.PodRef(p.Pod)}, Have: "1"}, true
	}
	step, until := marked(c.Progress, live, d.examiner.s.Now)
	return plan.Reason{Code: plan.Disrupting, Objects: plan.MachineRefs(live), Want: string(c.Cause), Until: until}, step != Remove
}

// Report adds to a plan what the decision is about machines of ours that exist in a
// snapshot: which would be disrupted now, and why the others stay.
func (d *Decision) Report(s *snapshot.Snapshot, p *plan.Plan) {
	for _, c := range d.Commands {
		out := plan.Disruption{Cause: string(c.Cause), Launch: c.Launch, Saving: c.Saving}
		if c.Saving == 0 && !c.Replaced {
			out.Saving = priceOf(s, c.Nodes) - plan.PriceOf(c.Launch)
		}
		for _, n := range c.Nodes {
			out.Nodes = append(out.Nodes, n.Name)
		}
		p.Disruptions = append(p.Disruptions, out)
	}
	for _, v := range d.Verdicts {
		if !v.Disrupting && v.Node.Claim != nil {
			p.Stays = append(p.Stays, plan.Stay{Node: v.Node.Name, Reason: v.Reason, Saving: v.Saving})
		}
	}
}
