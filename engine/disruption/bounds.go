package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/disruption/ledger"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// bound is what a policy bounds besides the budgets of pools: the machines that are on
// their way out in the cluster or in a zone, or the evictions of a pool.
type bound struct {
	limit, taken int
	// counts is what commands of this decision add.
	counts func(*decider) int
	reason func(taken int) plan.Reason
}

func (b *bound) left(d *decider) int { return max(0, b.limit-b.taken-b.counts(d)) }

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

// uses are what a machine would take of the bounds of its pool's policy.
func (d *decider) uses(cause Cause, n *snapshot.Node) []consolidate.Use {
	out := d.wideUses(cause, n)
	pool := d.s.Pool(n.Claim.Pool)
	if limit := pool.Policy.Disruption.EvictionsPerHour; limit > 0 && movers(n) > 0 {
		scope := "evictions/" + pool.Name
		if d.bounds[scope] == nil {
			taken, until := ledger.Evictions(pool, d.s.Now, ledger.Hour)
			d.bounds[scope] = &bound{
				limit: limit, taken: taken, counts: func(d *decider) int { return d.evicting[pool.Name] },
				reason: func(taken int) plan.Reason {
					return plan.Reason{Code: plan.EvictionRateReached, Objects: poolRef(pool), Want: fmt.Sprint(limit), Have: fmt.Sprint(taken), Until: until}
				},
			}
		}
		out = append(out, consolidate.Use{Scope: scope, Amount: min(movers(n), limit)})
	}
	return out
}

// wideUses are those of the budgets over all pools.
func (d *decider) wideUses(cause Cause, n *snapshot.Node) []consolidate.Use {
	var out []consolidate.Use
	for _, b := range d.s.Pool(n.Claim.Pool).Policy.Disruption.Budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, string(cause)) {
			continue
		}
		zone := ""
		if b.Zone {
			zone = cmp.Or(zoneOf(n), "-")
		}
		scope := "wide/" + zone + "/" + b.Nodes
		if d.bounds[scope] == nil {
			d.bounds[scope] = d.wide(b, zone)
		}
		out = append(out, consolidate.Use{Scope: scope, Amount: 1})
	}
	return out
}

// wide reads a budget over a zone, or over the cluster if the zone is empty.
func (d *decider) wide(b snapshot.WideBudget, zone string) *bound {
	c := d.census(zone)
	limit, err := scale(b.Nodes, c.nodes)
	where := "across: Cluster"
	if zone != "" {
		where = "across: Zone (" + zone + ")"
	}
	return &bound{
		limit: limit, taken: c.disrupting, counts: func(d *decider) int { return d.away[zone] },
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

// census counts the machines of all pools in a zone, or everywhere.
func (d *decider) census(zone string) census {
	var out census
	for _, n := range d.s.Nodes {
		if zone == "" || n.Claim != nil && cmp.Or(zoneOf(n), "-") == zone {
			if counted, disrupting := counts(n); counted {
				out.nodes++
				if disrupting {
					out.disrupting++
				}
			}
		}
	}
	return out
}

// bounded says which bound keeps machines from going together for a cause. Urgent causes
// are bound as expiry is, if their request says so.
func (d *decider) bounded(cause Cause, nodes []*snapshot.Node) (plan.Reason, bool) {
	return d.over(cause, nodes, d.uses)
}

// crowded is like bounded, for a command under way: its evictions are counted already.
func (d *decider) crowded(cause Cause, nodes []*snapshot.Node) (plan.Reason, bool) {
	return d.over(cause, nodes, d.wideUses)
}

func (d *decider) over(cause Cause, nodes []*snapshot.Node, uses func(Cause, *snapshot.Node) []consolidate.Use) (plan.Reason, bool) {
	sum := map[string]int{}
	for _, n := range nodes {
		if cause.Urgent() && !requested(n).Budgeted {
			continue
		}
		for _, u := range uses(cause, n) {
			if strings.HasPrefix(u.Scope, "wide/") && n.Object != nil && !snapshot.Ready(n.Object) {
				continue // it is counted already
			}
			if sum[u.Scope] += u.Amount; sum[u.Scope] > d.bounds[u.Scope].left(d) {
				return d.exhausted(n.Claim.Pool, u.Scope), true
			}
		}
	}
	return plan.Reason{}, false
}

// exhausted is why a machine of a pool waits for a scope.
func (d *decider) exhausted(pool, scope string) plan.Reason {
	b := d.bounds[scope]
	if b == nil {
		return d.allowance(pool, Underutilized).Reason(d.spent[pool])
	}
	r := b.reason(b.taken + b.counts(d))
	if r.Objects == nil {
		r.Objects = poolRef(d.s.Pool(pool))
	}
	return r
}
