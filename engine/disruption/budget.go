package disruption

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Unlimited is the number of machines that a pool without an applicable budget
// may disrupt at once.
const Unlimited = math.MaxInt32

// Allowance is what a pool's budgets permit for one cause at one instant:
//
//	Allowed   = min over budgets that are open and cover the cause; Unlimited if none
//	Remaining = max(0, Allowed - Disrupting)
type Allowance struct {
	Pool  string
	Cause Cause
	// Nodes is the number of the pool's machines that count: initialized ones whose
	// instance is not yet terminating. Percentages are of it, rounded up.
	Nodes int
	// Disrupting of them are not ready or being deleted, whatever the reason.
	Disrupting int
	Allowed    int
	// Budget is the one that decided, nil if none applies.
	Budget *snapshot.Budget
	// Invalid says which budget cannot be understood. Such a pool allows nothing,
	// for any cause.
	Invalid string
	// Opens is when the budgets will permit more than Disrupting if the machines
	// stay as they are; zero if that is not in sight.
	Opens time.Time
}

// Remaining is how many machines may be disrupted now.
func (a Allowance) Remaining() int { return max(0, a.Allowed-a.Disrupting) }

// Allowances are those of every pool and cause, by pool, then in the order of
// Causes.
func Allowances(s *snapshot.Snapshot) []Allowance {
	out := make([]Allowance, 0, len(s.Pools)*len(Causes()))
	of := map[string]census{}
	for _, n := range s.Nodes {
		c := of[n.Pool()]
		c.add(n)
		of[n.Pool()] = c
	}
	for _, p := range s.Pools {
		for _, c := range Causes() {
			out = append(out, allowance(p, c, of[p.Name], s.Now))
		}
	}
	return out
}

type census struct{ nodes, disrupting int }

// add counts a machine.
func (c *census) add(n *snapshot.Node) {
	if counted, disrupting := counts(n); counted {
		c.nodes++
		if disrupting {
			c.disrupting++
		}
	}
}

// counts reports whether a machine counts for budgets, and whether it uses them up.
func counts(n *snapshot.Node) (counted, disrupting bool) {
	if n.Claim == nil || n.Object == nil || !n.Claim.Is(snapshot.Initialized) || n.Claim.Is(snapshot.InstanceTerminating) {
		return false, false
	}
	return true, n.Deleting() || !snapshot.Ready(n.Object)
}

// Repairs is what a pool's budgets permit of repairs while so many of its nodes are under repair.
// Only budgets that name Unhealthy count.
func Repairs(p *snapshot.Pool, nodes, under int, now time.Time) Allowance {
	named := *p
	named.Disruption.Budgets = slices.DeleteFunc(slices.Clone(p.Disruption.Budgets), func(b snapshot.Budget) bool { return len(b.Reasons) == 0 })
	return allowance(&named, Unhealthy, census{nodes, under}, now)
}

func allowance(p *snapshot.Pool, cause Cause, c census, now time.Time) Allowance {
	a := Allowance{Pool: p.Name, Cause: cause, Nodes: c.nodes, Disrupting: c.disrupting}
	budgets, err := read(p.Disruption.Budgets, cause, c.nodes)
	if err != nil {
		a.Invalid = err.Error()
		return a
	}
	allowed, by := smallest(budgets, now)
	a.Allowed, a.Budget = allowed, by.Budget
	if a.Remaining() == 0 {
		a.Opens = opens(budgets, c.disrupting, now)
	}
	return a
}

// budget is one that covers the cause, with its text read.
type budget struct {
	*snapshot.Budget
	schedule cron.Schedule // nil if it is always open
	limit    int
}

// read keeps the budgets that cover a cause. One that cannot be read fails them
// all, even if it is about another cause: what was meant to protect the pool is
// not known.
func read(all []snapshot.Budget, cause Cause, nodes int) ([]budget, error) {
	var out []budget
	for i := range all {
		var schedule cron.Schedule
		if text := all[i].Schedule; text != "" {
			var err error
			// A time zone of the user's own would be a second prefix, which the parser
			// refuses: a budget is in UTC.
			if schedule, err = cron.ParseStandard("TZ=UTC " + text); err != nil {
				return nil, fmt.Errorf("schedule %q: %w", text, err)
			}
		}
		limit, err := scale(all[i].Nodes, nodes)
		if err != nil {
			return nil, err
		}
		if len(all[i].Reasons) == 0 || slices.Contains(all[i].Reasons, string(cause)) {
			out = append(out, budget{&all[i], schedule, limit})
		}
	}
	return out, nil
}

// CheckBudget says why a pool's budget cannot be read, nil if it can.
func CheckBudget(b snapshot.Budget) error {
	_, err := read([]snapshot.Budget{b}, "", 0)
	return err
}

// scale is a count, or a percentage of nodes rounded up.
func scale(text string, nodes int) (int, error) {
	digits, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("nodes %q is neither a count nor a percentage", text)
	}
	if percent {
		v = (v*int64(nodes) + 99) / 100
	}
	return int(v), nil
}

// smallest is the budget that permits least at a moment, the zero value if none is open.
func smallest(budgets []budget, now time.Time) (allowed int, by budget) {
	allowed = Unlimited
	for _, b := range budgets {
		if open, _ := b.at(now); open && b.limit < allowed {
			allowed, by = b.limit, b
		}
	}
	return allowed, by
}

// lookAhead bounds how many closing windows opens steps over.
const lookAhead = 64

// opens is when more than disrupting will be allowed, zero if that is not known: at the end of
// one window after the other, always of the budget that permits least.
func opens(budgets []budget, disrupting int, now time.Time) time.Time {
	for range lookAhead {
		allowed, by := smallest(budgets, now)
		if allowed > disrupting {
			return now
		}
		_, end := by.at(now)
		if !end.After(now) {
			break
		}
		now = end
	}
	return time.Time{}
}

// Reason is why the next machine has to wait when spent others were let go.
func (a Allowance) Reason(spent int) plan.Reason {
	pool := []plan.ObjectRef{plan.PoolRef(a.Pool)}
	if a.Invalid != "" {
		return plan.Reason{Code: plan.BudgetInvalid, Objects: pool, Have: a.Invalid}
	}
	return plan.Reason{
		Code: plan.BudgetExhausted, Objects: pool, Want: describe(a.Budget),
		Have:  fmt.Sprintf("%d of %d nodes not ready or leaving, %d allowed", a.Disrupting+spent, a.Nodes, a.Allowed),
		Total: a.Allowed, Until: a.Opens,
	}
}

// describe writes a budget as in the pool.
func describe(b *snapshot.Budget) string {
	parts := []string{fmt.Sprintf("nodes: %q", b.Nodes)}
	if b.Schedule != "" {
		parts = append(parts, fmt.Sprintf("schedule: %q, duration: %s", b.Schedule, b.Duration))
	}
	if len(b.Reasons) > 0 {
		parts = append(parts, fmt.Sprintf("reasons: [%s]", strings.Join(slices.Sorted(slices.Values(b.Reasons)), ", ")))
	}
	return strings.Join(parts, ", ")
}

// at reports whether the budget is open at a moment, which it is for its duration after each
// time of its schedule; and when that opening ends, not after now if it has no end. Another may
// have begun by then. A schedule that never comes (30 February) is open, as it is in Karpenter,
// so that its budget holds rather than vanishes.
func (b budget) at(now time.Time) (open bool, end time.Time) {
	if b.schedule == nil {
		return true, time.Time{}
	}
	opened := b.schedule.Next(now.UTC().Add(-b.Duration)) // zero if it never comes
	return !opened.After(now), opened.Add(b.Duration)
}
