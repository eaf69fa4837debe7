package repair

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// census counts the machines of a pool. Those without a pool are counted together
// with all others, as in Karpenter.
type census struct {
	nodes, unhealthy, healthy, repairing int
}

// censusOf is that of a machine's pool.
func (d *decider) censusOf(n *snapshot.Node) *census {
	c := d.census[n.Claim.Pool]
	if c == nil {
		c = &census{}
		d.census[n.Claim.Pool] = c
	}
	return c
}

// count adds a machine to its pool's census.
func (d *decider) count(n *snapshot.Node, findings []Finding) {
	c := d.censusOf(n)
	c.nodes++
	switch {
	case len(harmful(findings)) > 0:
		c.unhealthy++
	case n.Initialized() && snapshot.Ready(n.Object) && !n.Deleting():
		c.healthy++
	}
	if underRepair(n, findings) {
		c.repairing++
	}
}

func harmful(findings []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return !f.harmful() })
}

// underRepair reports whether a machine takes up a place of the budget.
func underRepair(n *snapshot.Node, findings []Finding) bool {
	return wanted(n) || n.Claim.Is(snapshot.Rebooting) || n.Deleting() && len(harmful(findings)) > 0
}

// DoNotRepairAnnotation on a Node or NodeClaim, "true", keeps it from being repaired, as Karpenter
// has it from 1.15 on.
const DoNotRepairAnnotation = "karpenter.sh/do-not-repair"

// held says why a machine whose repair is due is not repaired.
func (d *decider) held(n *snapshot.Node, f *Finding, action snapshot.RepairAction) (plan.Reason, bool) {
	policy := d.policy(n)
	if n.Object.Annotations[DoNotRepairAnnotation] == "true" || n.Claim.Annotations[DoNotRepairAnnotation] == "true" {
		return plan.Reason{Code: plan.DoNotRepair, Have: f.What, Since: f.Since}, true
	}
	pool := *d.censusOf(n)
	if n.Claim.Pool == "" {
		pool = d.all()
	}
	if limit := scale(policy.MaxUnhealthy, pool.nodes); pool.unhealthy > limit {
		return d.block(n, f, plan.Reason{
			Code: plan.RepairBlocked, Have: fmt.Sprintf("%d of %d", pool.unhealthy, pool.nodes), Want: policy.MaxUnhealthy,
		})
	}
	if c := d.shared(n, policy); c != nil {
		return d.block(n, f, plan.Reason{
			Code: plan.CorrelatedFailure, Have: fmt.Sprintf("%d of %d", c.unhealthy, c.nodes), Want: c.key.String(),
		})
	}
	if limit := scale(policy.Budget, pool.nodes); !underRepair(n, d.sick[n]) && pool.repairing >= limit {
		return plan.Reason{Code: plan.RepairBudget, Have: fmt.Sprint(pool.repairing), Want: policy.Budget, Since: f.Since, Objects: poolRef(n)}, true
	}
	if reason, used := d.budget(n, pool); used {
		reason.Since = f.Since
		return reason, true
	}
	if action == snapshot.RepairTerminate && pool.healthy < policy.MinHealthy {
		return plan.Reason{Code: plan.TooFewHealthy, Have: fmt.Sprint(pool.healthy), Want: fmt.Sprint(policy.MinHealthy), Since: f.Since, Objects: poolRef(n)}, true
	}
	return plan.Reason{}, false
}

// budget reports whether the budgets of a machine's pool that name Unhealthy are used up, and by
// what.
func (d *decider) budget(n *snapshot.Node, c census) (plan.Reason, bool) {
	p := d.s.Pool(n.Claim.Pool)
	if p == nil || underRepair(n, d.sick[n]) {
		return plan.Reason{}, false
	}
	a := disruption.Repairs(p, c.nodes, c.repairing, d.s.Now)
	if a.Remaining() > 0 {
		return plan.Reason{}, false
	}
	d.recheck(a.Opens)
	reason := a.Reason(0)
	if a.Invalid == "" {
		reason.Code, reason.Have = plan.RepairBudget, fmt.Sprint(c.repairing)
	}
	return reason, true
}

// all is the census of the cluster.
func (d *decider) all() census {
	var out census
	for _, c := range d.census {
		out.nodes, out.unhealthy = out.nodes+c.nodes, out.unhealthy+c.unhealthy
		out.healthy, out.repairing = out.healthy+c.healthy, out.repairing+c.repairing
	}
	return out
}

// block tells the machine's pool, once, that repair is stopped.
func (d *decider) block(n *snapshot.Node, f *Finding, reason plan.Reason) (plan.Reason, bool) {
	reason.Since, reason.Objects = f.Since, poolRef(n)
	told := slices.ContainsFunc(d.Blocks, func(b Block) bool { return b.Pool == n.Claim.Pool })
	if n.Claim.Pool != "" && !told {
		d.Blocks = append(d.Blocks, Block{n.Claim.Pool, reason})
	}
	return reason, true
}

// scale is a number, or a percentage of nodes rounded up. What cannot be read,
// which the API server refuses, is none.
func scale(text string, nodes int) int {
	v := intstr.Parse(text)
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, nodes, true)
	if err != nil {
		return 0
	}
	return n
}

// key is what machines have in common.
type key struct{ kind, value string }

func (k key) String() string { return k.kind + " " + k.value }

// common counts the machines that have something in common.
type common struct {
	key
	nodes, unhealthy int
}

// whatIsCommon counts machines by zone, image and what is wrong with them. The
// order is by share of unhealthy ones, then by key.
func (d *decider) whatIsCommon() []common {
	counts := map[key]*common{}
	at := func(k key) *common {
		if counts[k] == nil {
			counts[k] = &common{key: k}
		}
		return counts[k]
	}
	all := 0
	for _, n := range d.s.Nodes {
		if !d.watched(n) {
			continue
		}
		all++
		harm := harmful(d.sick[n])
		for _, k := range places(n) {
			at(k).nodes++
			if len(harm) > 0 {
				at(k).unhealthy++
			}
		}
		for _, f := range harm {
			at(key{"condition", f.Name}).unhealthy++
		}
	}
	out := make([]common, 0, len(counts))
	for _, c := range counts {
		if c.kind == "condition" {
			c.nodes = all
		}
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b common) int {
		return cmp.Or(
			cmp.Compare(b.unhealthy*a.nodes, a.unhealthy*b.nodes),
			cmp.Compare(a.nodes, b.nodes),
			cmp.Compare(b.kind, a.kind), cmp.Compare(a.value, b.value),
		)
	})
	return out
}

// places are where a machine is and what it was started from, as far as known.
func places(n *snapshot.Node) []key {
	var out []key
	if zone := n.Labels()[corev1.LabelTopologyZone]; zone != "" {
		out = append(out, key{"zone", zone})
	}
	if n.Claim.Image != "" {
		out = append(out, key{"image", n.Claim.Image})
	}
	return out
}

// shared is what a machine has in common with so many broken ones that it is
// hardly to blame, nil if there is nothing.
func (d *decider) shared(n *snapshot.Node, policy snapshot.Repair) *common {
	if !policy.On {
		return nil
	}
	mine := places(n)
	for _, f := range harmful(d.sick[n]) {
		mine = append(mine, key{"condition", f.Name})
	}
	for i := range d.common {
		c := &d.common[i]
		if slices.Contains(mine, c.key) && c.unhealthy >= policy.CorrelatedNodes && c.unhealthy*100 > policy.CorrelatedPercent*c.nodes {
			return c
		}
	}
	return nil
}
