package disruption

import (
	"time"

	"github.com/millwright-dev/millwright/engine/disruption/headroom"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/nomination"
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
	// Work bounds what is asked of placement in one decision, in machines looked
	// at, of whose pods eight count as one more; the least is one question. More finds
	// savings in fewer passes, less makes a pass shorter: a machine is looked at in
	// about 20 microseconds. Zero is DefaultWork.
	Work int
	// Turn says where the search for savings begins among candidates for whom the work
	// does not suffice. Zero follows the time, so that everybody's turn comes; another
	// number makes the decision independent of the seconds at which it is asked.
	Turn int64
	// Placement are the options that the provisioning pass uses, so that both
	// count on the same machines for the same pods.
	Placement placement.Options
}

// Defaults of Options.
const (
	DefaultSettle = 2 * time.Second
	DefaultWork   = 40_000
)

func (o Options) withDefaults() Options {
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	if o.Work == 0 {
		o.Work = DefaultWork
	}
	return o
}

// turnAt is the turn at a time.
func (o Options) turnAt(now time.Time) int64 {
	if o.Turn != 0 {
		return o.Turn
	}
	return now.Unix() / turn
}

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
	// Placements are where pods are expected to go that need none of those, for a
	// consolidation that begins.
	Placements []plan.Placement
}

// Rollback takes the marks off a machine.
type Rollback struct {
	Node *snapshot.Node
	// Reason is why its command is off.
	Reason plan.Reason
	// Failed is true if the reason is that a replacement did not become ready;
	// Failures counts those of the machine's pool, this one included.
	Failed   bool
	Failures int
	// Discard are replacements of the command that have no Node yet: they are not
	// wanted any more.
	Discard []*snapshot.Node
}

// Verdict is what holds for one machine now.
type Verdict struct {
	Node *snapshot.Node
	// Disrupting is true for a machine on its way out: in a command, or deleted by
	// somebody.
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
	d := newDecider(s, opts.withDefaults())
	d.enforce()
	d.judge()
	d.resume()
	d.beginEmpty()
	d.beginReplacing()
	d.beginConsolidating()
	d.rollBack()
	d.Refusals, d.Agreed = d.refused, agreed(s)
	d.Recheck = d.earliest()
	return d.Decision
}

// decider is one decision in the making.
type decider struct {
	*Decision
	*examiner
	opts  Options
	world *whatif.World
	// at is where a machine's verdict is, by name.
	at map[string]int
	// spent counts the machines of commands, by pool; away does by zone, and all of
	// them under "". evicting counts their pods, by pool.
	spent, away, evicting map[string]int
	// bounds are those that machines have been asked about, by scope.
	bounds     map[string]*bound
	candidates map[Cause][]candidate
	groups     []*group
	discard    map[string][]*snapshot.Node // by machine whose command is off
	failed     map[string]bool             // machines whose replacement did not come up
	overdue    map[string]bool             // machines whose last deadline has passed
	// paused are the pools that launch no replacements for now.
	paused map[string]pause
	// rooms are those of the pools that must keep room for what may come again.
	rooms map[string]*headroom.Room
}

func newDecider(s *snapshot.Snapshot, opts Options) *decider {
	e := newExaminer(s, opts)
	d := &decider{
		Decision: &Decision{Verdicts: make([]Verdict, len(s.Nodes)), Eligible: map[Cause]int{}, Allowances: Allowances(s), examiner: e},
		examiner: e, opts: opts, world: whatif.New(s, e.planned, opts.Placement),
		at: make(map[string]int, len(s.Nodes)), spent: map[string]int{}, away: map[string]int{}, evicting: map[string]int{},
		bounds: map[string]*bound{}, candidates: map[Cause][]candidate{},
		discard: map[string][]*snapshot.Node{}, failed: map[string]bool{}, overdue: map[string]bool{}, paused: pauses(s),
	}
	for i, n := range s.Nodes {
		d.at[n.Name] = i
	}
	d.groups = groups(s)
	return d
}

// judge asks the rules about every machine that is not in a command.
func (d *decider) judge() {
	running := map[string]bool{}
	for _, g := range d.groups {
		for _, n := range g.nodes {
			running[n.Name] = true
		}
	}
	for i, n := range d.s.Nodes {
		d.Verdicts[i].Node = n
		if running[n.Name] || d.overdue[n.Name] {
			continue
		}
		cause, reason, blocked := d.qualify(n)
		d.Verdicts[i] = Verdict{Node: n, Cause: cause, Reason: reason, Disrupting: reason.Code == plan.BeingDeleted}
		if !blocked {
			d.candidates[cause] = append(d.candidates[cause], d.candidate(n))
			d.Eligible[cause]++
		}
	}
}

// verdict is the one for a machine.
func (d *decider) verdict(n *snapshot.Node) *Verdict { return &d.Verdicts[d.at[n.Name]] }

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
// or a pod that nobody has planned for.
func (d *Decision) Still(c Command, live *snapshot.Node) (reason plan.Reason, stays bool) {
	if reason, blocked := d.examiner.ask(running(c.Cause), live); blocked {
		return reason, true
	}
	if p := unplanned(c, live); p != nil {
		return plan.Reason{Code: plan.HasPods, Objects: []plan.ObjectRef{plan.PodRef(p.Pod)}, Have: "1"}, true
	}
	step, until := marked(c.Progress, live, d.examiner.s.Now, d.examiner.settle)
	return plan.Reason{Code: plan.Disrupting, Objects: plan.MachineRefs(live), Want: string(c.Cause), Until: until}, step != Remove
}

// rollBack lists the marked machines that are in no command.
func (d *decider) rollBack() {
	for _, v := range d.Verdicts {
		if v.Disrupting || !Marked(v.Node) {
			continue
		}
		r := Rollback{Node: v.Node, Reason: v.Reason, Discard: d.discard[v.Node.Name], Failed: d.failed[v.Node.Name]}
		if r.Failed {
			r.Failures = d.paused[v.Node.Claim.Pool].failures + 1
		}
		d.Rollbacks = append(d.Rollbacks, r)
	}
}

// earliest is when time alone may change a verdict, or a request's deadline passes.
func (d *decider) earliest() time.Time {
	var first time.Time
	for _, v := range d.Verdicts {
		for _, at := range []time.Time{v.Reason.Until, requested(v.Node).Deadline} {
			if at.After(d.s.Now) && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}
