package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption/churnlog"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// account books the machines of commands against budgets: those of pools, and those of
// policies, over machines on their way out in the cluster or in a zone, and over
// evictions.
type account struct {
	s          *snapshot.Snapshot
	allowances []Allowance
	// booked counts the machines of commands, or their pods, by what bounds are over.
	booked map[string]int
	// bounds memoises budgets by what is read for them.
	bounds map[string]*bound
}

// bound is a budget.
type bound struct {
	over         string
	limit, taken int
	reason       func(taken int) plan.Reason
}

// use is how much of a bound a machine takes.
type use struct {
	*bound
	amount int
}

func newAccount(s *snapshot.Snapshot) *account {
	return &account{s: s, allowances: Allowances(s), booked: map[string]int{}, bounds: map[string]*bound{}}
}

// allowance is that of a pool and cause.
func (a *account) allowance(pool string, cause Cause) Allowance {
	return a.allowances[slices.IndexFunc(a.allowances, func(x Allowance) bool { return x.Pool == pool && x.Cause == cause })]
}

// refuses says which budget keeps machines from going together for a cause.
func (a *account) refuses(cause Cause, nodes []*snapshot.Node, begun bool) (plan.Reason, bool) {
	sum := map[*bound]int{}
	for _, n := range nodes {
		for _, u := range a.uses(cause, n, begun) {
			taken := u.taken + a.booked[u.over]
			if sum[u.bound] += u.amount; sum[u.bound] > max(0, u.limit-taken) {
				r := u.reason(taken + sum[u.bound] - u.amount)
				r.Objects = poolRef(a.s.Pool(n.Claim.Pool))
				return r, true
			}
		}
	}
	return plan.Reason{}, false
}

// charge books machines of a command. Those that count already, or do not count, book nothing.
func (a *account) charge(nodes []*snapshot.Node) {
	for _, n := range nodes {
		a.booked["pods/"+n.Claim.Pool] += Movers(n)
		if counted, disrupting := counts(n); counted && !disrupting {
			a.booked["pool/"+n.Claim.Pool]++
			a.booked["zone/"]++
			a.booked["zone/"+zoneOf(n)]++
		}
	}
}

// uses are what a machine that goes for a cause would take of the budgets that cover it,
// of its pool's own first. Of budgets over all pools, one that is not ready is counted already,
// and of those of evictions one whose command has begun. Budgets hold urgent causes back only if
// their request says so, and then as they hold expiry back.
func (a *account) uses(cause Cause, n *snapshot.Node, begun bool) []use {
	if cause.Urgent() {
		if !Requested(n.Claim).Budgeted {
			return nil
		}
		cause = Expired
	}
	var out []use
	add := func(key string, amount int, read func() *bound) {
		if a.bounds[key] == nil {
			a.bounds[key] = read()
		}
		out = append(out, use{a.bounds[key], amount})
	}
	pool := a.s.Pool(n.Claim.Pool)
	add("pool/"+pool.Name+"/"+string(cause), 1, func() *bound { return a.ofPool(pool, cause) })
	for _, b := range pool.Policy.Disruption.Budgets {
		if !snapshot.Ready(n.Object) || len(b.Reasons) > 0 && !slices.Contains(b.Reasons, string(cause)) {
			continue
		}
		zone := ""
		if b.Zone {
			zone = zoneOf(n)
		}
		add("zone/"+zone+"/"+b.Nodes, 1, func() *bound { return a.wide(b, zone) })
	}
	if limit := pool.Policy.Disruption.EvictionsPerHour; limit > 0 && !begun {
		add("pods/"+pool.Name, min(Movers(n), limit), func() *bound { return a.evictions(pool, limit) })
	}
	return out
}

// ofPool reads a pool's budgets for a cause.
func (a *account) ofPool(p *snapshot.Pool, cause Cause) *bound {
	x := a.allowance(p.Name, cause)
	return &bound{over: "pool/" + p.Name, limit: x.Allowed, taken: x.Disrupting, reason: func(taken int) plan.Reason { return x.Reason(taken - x.Disrupting) }}
}

// evictions reads the bound of a pool's evictions in an hour.
func (a *account) evictions(p *snapshot.Pool, limit int) *bound {
	taken, until := churnlog.Evictions(p, a.s.Now, time.Hour)
	return &bound{over: "pods/" + p.Name, limit: limit, taken: taken, reason: func(taken int) plan.Reason {
		return plan.Reason{Code: plan.EvictionRateReached, Want: fmt.Sprint(limit), Have: fmt.Sprint(taken), Until: until}
	}}
}

// wide reads a budget over a zone, or over the cluster if the zone is empty.
func (a *account) wide(b snapshot.WideBudget, zone string) *bound {
	var c census
	for _, n := range a.s.Nodes {
		if zone == "" || zoneOf(n) == zone {
			c.add(n)
		}
	}
	limit, err := scale(b.Nodes, c.nodes)
	where := "across: Cluster"
	if zone != "" {
		where = "across: Zone (" + zone + ")"
	}
	return &bound{over: "zone/" + zone, limit: limit, taken: c.disrupting, reason: func(taken int) plan.Reason {
		r := plan.Reason{
			Code: plan.BudgetExhausted, Field: "spec.disruption.budgets of the NodePolicy", Want: fmt.Sprintf("%s, nodes: %q", where, b.Nodes),
			Have:  fmt.Sprintf("%d of %d nodes not ready or leaving, %d allowed", taken, c.nodes, limit),
			Total: limit,
		}
		if err != nil {
			r.Code, r.Have = plan.BudgetInvalid, err.Error()
		}
		return r
	}}
}

// zoneOf is a machine's zone, a dash if it is not known.
func zoneOf(n *snapshot.Node) string { return cmp.Or(n.Labels()[corev1.LabelTopologyZone], "-") }

// Movers counts the pods of a machine that would be evicted and made again.
func Movers(n *snapshot.Node) int {
	count := 0
	for range whatif.Moving(n) {
		count++
	}
	return count
}
