package disruption

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Decide judges every machine of a snapshot.
func Decide(s *snapshot.Snapshot, opts Options) *Decision {
	d := newDecider(s, opts)
	d.enforce()
	d.judge()
	(&underway{d}).resume()
	d.beginEmpty()
	d.beginReplacing()
	(&consolidation{d}).begin()
	slices.SortFunc(d.Rollbacks, func(a, b Rollback) int { return d.at[a.Node.Name] - d.at[b.Node.Name] })
	d.Refusals, d.Agreed = d.refused, agreed(s)
	d.Recheck = d.earliest()
	return d.Decision
}

// decider is one decision in the making.
type decider struct {
	*Decision
	*examiner
	world *whatif.World
	// random orders what this decision may not come to.
	random *rand.Rand
	// at is where a machine's verdict is, by name.
	at         map[string]int
	account    *account
	candidates map[Cause][]candidate
	groups     []*group
	overdue    map[string]bool // machines whose last deadline has passed
	// paused are the pools that launch no replacements for now.
	paused map[string]pause
}

func newDecider(s *snapshot.Snapshot, opts Options) *decider {
	e, a := newExaminer(s, opts), newAccount(s)
	d := &decider{
		Decision: &Decision{Verdicts: make([]Verdict, len(s.Nodes)), Eligible: map[Cause]int{}, Allowances: a.allowances, examiner: e}, account: a,
		examiner: e, world: whatif.New(s, e.planned, opts.Placement), random: opts.random(s.Now),
		at: make(map[string]int, len(s.Nodes)), candidates: map[Cause][]candidate{},
		overdue: map[string]bool{}, paused: pauses(s),
	}
	for i, n := range s.Nodes {
		d.at[n.Name] = i
	}
	d.groups = groups(s)
	// Nothing is moved to further Nodes of an instance, whose room is counted once.
	d.world.Close(func(n *snapshot.Node) bool { return n.Claim == nil && d.twins[n.Object.Spec.ProviderID] != nil })
	return d
}

// judge asks the rules about every machine that is not in a command.
func (d *decider) judge() {
	running := map[string]bool{}
	for _, g := range d.groups {
		for _, n := range g.Nodes {
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
			d.candidates[cause] = append(d.candidates[cause], candidate{n, Price(d.s.Pool(n.Claim.Pool), n)})
			d.Eligible[cause]++
		}
	}
}

// verdict is the one for a machine.
func (d *decider) verdict(n *snapshot.Node) *Verdict { return &d.Verdicts[d.at[n.Name]] }

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
