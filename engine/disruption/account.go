package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption/churnlog"
	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// account books the machines of commands against budgets: those of pools, and those of
// policies, over machines on their way out in the cluster or in a zone, and over
// evictions.
type account struct {
	s          *snapshot.Snapshot
	allowances []Allowance
	// spent counts the machines of commands, by pool; away does by zone, and all of
	// them under "". evicting counts their pods, by pool.
	spent, away, evicting map[string]int
	// bounds are those of policies that machines have been asked about, by scope.
	bounds map[string]*bound
}

// bound is what a policy bounds besides the budgets of pools.
type bound struct {
	limit, taken int
	// booked is what the account adds.
	booked func() int
	reason func(taken int) plan.Reason
}

func (b *bound) left() int { return max(0, b.limit-b.taken-b.booked()) }

func newAccount(s *snapshot.Snapshot) *account {
	return &account{
		s: s, allowances: Allowances(s), spent: map[string]int{}, away: map[string]int{}, evicting: map[string]int{}, bounds: map[string]*bound{},
	}
}

// allowance is that of a pool and cause.
func (a *account) allowance(pool string, cause Cause) Allowance {
	return a.allowances[slices.IndexFunc(a.allowances, func(x Allowance) bool { return x.Pool == pool && x.Cause == cause })]
}

// remaining is how many machines of a pool may still go for a cause.
func (a *account) remaining(pool string, cause Cause) int {
	return max(0, a.allowance(pool, cause).Remaining()-a.spent[pool])
}

// refuses says which budget keeps machines from going together for a cause, and for
// which of them. Budgets hold urgent causes back only if their request says so, and then
// as they hold expiry back. The evictions of a command that has begun are counted
// already.
func (a *account) refuses(cause Cause, nodes []*snapshot.Node, begun bool) (*snapshot.Node, plan.Reason, bool) {
	with := map[string]int{}
	for _, n := range nodes {
		with[n.Claim.Pool]++
	}
	for _, n := range nodes {
		if covering, covered := covering(cause, n); covered {
			pool := n.Claim.Pool
			if x := a.allowance(pool, covering); x.Invalid != "" || x.Allowed != Unlimited && a.spent[pool]+with[pool] > x.Remaining() {
				return n, x.Reason(a.spent[pool]), true
			}
		}
	}
	sum := map[string]int{}
	for _, n := range nodes {
		if _, covered := covering(cause, n); !covered {
			continue
		}
		for _, u := range a.uses(cause, n) {
			wide := strings.HasPrefix(u.Scope, "wide/")
			if begun && !wide || wide && n.Object != nil && !snapshot.Ready(n.Object) {
				continue // it is counted already
			}
			if sum[u.Scope] += u.Amount; sum[u.Scope] > a.bounds[u.Scope].left() {
				return nodes[0], a.exhausted(n.Claim.Pool, u.Scope), true
			}
		}
	}
	return nil, plan.Reason{}, false
}

// covering is the cause whose budgets cover a machine that goes, if any do.
func covering(cause Cause, n *snapshot.Node) (Cause, bool) {
	if cause.Urgent() {
		return Expired, requested(n).Budgeted
	}
	return cause, true
}

// charge books machines of a command. One that is not ready counts already.
func (a *account) charge(nodes []*snapshot.Node) {
	for _, n := range nodes {
		a.evicting[n.Claim.Pool] += movers(n)
		if n.Object == nil || snapshot.Ready(n.Object) {
			a.spent[n.Claim.Pool]++
			a.away[""]++
			a.away[cmp.Or(zoneOf(n), "-")]++
		}
	}
}

// uses are what a machine would take of the bounds of its pool's policy.
func (a *account) uses(cause Cause, n *snapshot.Node) []consolidate.Use {
	var out []consolidate.Use
	pool := a.s.Pool(n.Claim.Pool)
	for _, b := range pool.Policy.Disruption.Budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, string(cause)) {
			continue
		}
		zone := ""
		if b.Zone {
			zone = cmp.Or(zoneOf(n), "-")
		}
		scope := "wide/" + zone + "/" + b.Nodes
		if a.bounds[scope] == nil {
			a.bounds[scope] = a.wide(b, zone)
		}
		out = append(out, consolidate.Use{Scope: scope, Amount: 1})
	}
	if limit := pool.Policy.Disruption.EvictionsPerHour; limit > 0 && movers(n) > 0 {
		scope := "evictions/" + pool.Name
		if a.bounds[scope] == nil {
			a.bounds[scope] = a.evictions(pool, limit)
		}
		out = append(out, consolidate.Use{Scope: scope, Amount: min(movers(n), limit)})
	}
	return out
}

// evictions reads the bound of a pool's evictions in an hour.
func (a *account) evictions(p *snapshot.Pool, limit int) *bound {
	taken, until := churnlog.Evictions(p, a.s.Now, churnlog.Hour)
	return &bound{
		limit: limit, taken: taken, booked: func() int { return a.evicting[p.Name] },
		reason: func(taken int) plan.Reason {
			return plan.Reason{Code: plan.EvictionRateReached, Objects: poolRef(p), Want: fmt.Sprint(limit), Have: fmt.Sprint(taken), Until: until}
		},
	}
}

// wide reads a budget over a zone, or over the cluster if the zone is empty.
func (a *account) wide(b snapshot.WideBudget, zone string) *bound {
	var c census
	for _, n := range a.s.Nodes {
		if zone == "" || n.Claim != nil && cmp.Or(zoneOf(n), "-") == zone {
			c.add(n)
		}
	}
	limit, err := scale(b.Nodes, c.nodes)
	where := "across: Cluster"
	if zone != "" {
		where = "across: Zone (" + zone + ")"
	}
	return &bound{
		limit: limit, taken: c.disrupting, booked: func() int { return a.away[zone] },
		reason: func(taken int) plan.Reason {
			r := plan.Reason{
				Code: plan.BudgetExhausted, Field: "spec.disruption.budgets of the NodePolicy", Want: fmt.Sprintf("%s, nodes: %q", where, b.Nodes),
				Have: fmt.Sprintf("%d of %d nodes not ready or leaving, %d allowed", taken, c.nodes, limit),
			}
			if err != nil {
				r.Code, r.Have = plan.BudgetInvalid, err.Error()
			}
			return r
		},
	}
}

// exhausted is why a machine of a pool waits for a scope.
func (a *account) exhausted(pool, scope string) plan.Reason {
	b := a.bounds[scope]
	if b == nil {
		return a.allowance(pool, Underutilized).Reason(a.spent[pool])
	}
	r := b.reason(b.taken + b.booked())
	if r.Objects == nil {
		r.Objects = poolRef(a.s.Pool(pool))
	}
	return r
}

func zoneOf(n *snapshot.Node) string { return n.Labels()[corev1.LabelTopologyZone] }

// movers counts the pods of a machine that would be evicted and made again.
func movers(n *snapshot.Node) int {
	count := 0
	for _, p := range n.Pods {
		if eviction.Reschedulable(p.Pod) {
			count++
		}
	}
	return count
}
