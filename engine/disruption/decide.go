package disruption

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/disruption/churnlog"
	"github.com/millwright-dev/millwright/engine/disruption/deletioncost"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/static"
)

// Decide judges every machine of a snapshot.
func Decide(s *snapshot.Snapshot, opts Options) *Decision {
	s = withUntried(s)
	d := newDecider(s, opts)
	d.enforce()
	d.judge()
	(&underway{d}).resume()
	d.beginEmpty()
	d.beginReplacing()
	(&consolidation{d}).begin()
	if opts.PodDeletionCosts {
		d.DeletionCosts = deletioncost.Changes(s, d.ranked())
	}
	slices.SortFunc(d.Rollbacks, func(a, b Rollback) int { return d.at[a.Node.Name] - d.at[b.Node.Name] })
	d.Recheck = d.earliest()
	return d.Decision
}

// decider is one decision in the making.
type decider struct {
	*Decision
	*examiner
	world *whatif.World
	// missing are machines that pods and static pools lack and that are launched outside of commands.
	missing []plan.NewNode
	// random orders what this decision may not come to.
	random *rand.Rand
	// at is where a machine's verdict is, by name.
	at         map[string]int
	account    *account
	candidates map[Cause][]churnlog.Machine
	groups     []*group
	// paused are the pools that launch no replacements for now.
	paused              map[string]pause
	terminateFirstDrift bool
}

func newDecider(s *snapshot.Snapshot, opts Options) *decider {
	planned := planFor(s, opts.Placement)
	e, a := newExaminer(s, planned), newAccount(s)
	d := &decider{
		Decision: &Decision{
			Verdicts: make([]Verdict, len(s.Nodes)), Eligible: map[Cause]int{}, Allowances: a.allowances, examiner: e,
			Refusals: nomination.Refusals(s, planned.Placements), Agreed: agreed(s),
		},
		examiner: e, missing: slices.Clip(planned.NewNodes), world: whatif.New(s, planned, opts.Placement), account: a,
		at: make(map[string]int, len(s.Nodes)), candidates: map[Cause][]churnlog.Machine{}, groups: groups(s), paused: pauses(s),
		terminateFirstDrift: opts.TerminateFirstDrift,
		random:              rand.New(rand.NewPCG(uint64(cmp.Or(opts.Turn, s.Now.Unix()/turn)), 0)),
	}
	for i, n := range s.Nodes {
		d.at[n.Name], d.Verdicts[i].Node = i, n
	}
	for _, p := range s.Pools {
		launch, _, _ := static.Staff(s, p, d.replacing, d.world.Ledger)
		d.missing = append(d.missing, launch...)
	}
	// Nothing is moved to further Nodes of an instance, whose room is counted once.
	d.world.Close(func(n *snapshot.Node) bool { return n.Claim == nil && d.twins[n.Object.Spec.ProviderID] != nil })
	return d
}

// judge asks the rules about every machine that is not in a command.
func (d *decider) judge() {
	for i, n := range d.s.Nodes {
		if Marked(n) && !n.Deleting() || d.Verdicts[i].Disrupting {
			continue
		}
		cause, reason, blocked := d.qualify(n)
		d.Verdicts[i] = Verdict{Node: n, Cause: cause, Reason: reason, Disrupting: reason.Code == plan.BeingDeleted}
		if !blocked {
			d.candidates[cause] = append(d.candidates[cause], churnlog.Machine{Node: n, Price: Price(d.s.Pool(n.Claim.Pool), n)})
			d.Eligible[cause]++
		}
	}
}

// ranked are the machines that scale-ins may empty: those that go, and those that may not go
// now but on whose pods it does not depend.
func (d *decider) ranked() []deletioncost.Machine {
	var out []deletioncost.Machine
	for i, n := range d.s.Nodes {
		v, class, rules := d.Verdicts[i], deletioncost.Consolidated, emptying
		switch {
		case n.Claim == nil:
			continue
		case v.Disrupting, n.Deleting():
			class, rules = deletioncost.Leaving, nil
		case v.Cause != "" && v.Cause != Empty && v.Cause != Underutilized:
			class, rules = deletioncost.Renewed, renewal
		}
		if _, blocked := d.ask(rules, n); blocked {
			continue
		}
		m := deletioncost.Machine{Node: n, Class: class}
		if class != deletioncost.Leaving { // its pool may be gone
			m.Price = Price(d.s.Pool(n.Claim.Pool), n)
		}
		out = append(out, m)
	}
	return out
}

// verdict is the one for a machine.
func (d *decider) verdict(n *snapshot.Node) *Verdict { return &d.Verdicts[d.at[n.Name]] }

// earliest is when time alone may change a verdict, or a request's deadline passes.
func (d *decider) earliest() time.Time {
	var first time.Time
	for _, v := range d.Verdicts {
		for _, at := range []time.Time{v.Reason.Until, Requested(v.Node.Claim).Deadline} {
			if at.After(d.s.Now) && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	return first
}
