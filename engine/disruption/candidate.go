package disruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// candidate is a machine that may go if the budget allows it.
type candidate struct {
	index int // in the snapshot
	node  *snapshot.Node
	price float64 // $/h, 0 if not known
}

// Marked reports whether a machine of ours carries any mark of a command: the
// taint on the node or the condition on the claim.
func Marked(n *snapshot.Node) bool {
	return n.Claim != nil && (tainted(n) || n.Claim.Is(snapshot.DisruptionReason))
}

func tainted(n *snapshot.Node) bool {
	return n.Object != nil && eviction.Marked(n.Object)
}

func (e *examiner) candidate(i int, n *snapshot.Node) candidate {
	return candidate{index: i, node: n, price: Price(e.s.Pool(n.Claim.Pool), n)}
}

// Price is what a machine of a pool costs in $/h, whether or not the cloud sells
// its type at present; 0 if that is not known.
func Price(pool *snapshot.Pool, n *snapshot.Node) float64 {
	labels := n.Labels()
	name := labels[corev1.LabelInstanceTypeStable]
	i := slices.IndexFunc(pool.Types, func(t *catalog.Type) bool { return t.Name == name })
	if i < 0 {
		return 0
	}
	o, _ := pool.Types[i].Offering(labels[corev1.LabelTopologyZone], labels[catalog.CapacityTypeLabel])
	return o.Price
}

// spend gives the budgets out: to machines that are marked already, so that a
// command under way is finished before another begins, then to the dearest.
func (d *Decision) spend(candidates []candidate, s *snapshot.Snapshot, opts Options) {
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(
			-cmp.Compare(progress(a.node), progress(b.node)),
			-cmp.Compare(a.price, b.price),
			cmp.Compare(a.node.Name, b.node.Name),
		)
	})
	spent := map[string]int{}
	for _, c := range candidates {
		pool := c.node.Claim.Pool
		allowance := find(d.Allowances, pool, Empty)
		if spent[pool] >= allowance.Remaining() {
			d.Verdicts[c.index].Reason = allowance.reason(spent[pool])
			continue
		}
		spent[pool]++
		step, until := next(c.node, s.Now, opts.Settle)
		d.Commands = append(d.Commands, Command{Cause: Empty, Pool: pool, Node: c.node, Step: step})
		d.Verdicts[c.index].Disrupting = true
		d.Verdicts[c.index].Reason = plan.Reason{
			Code: plan.Disrupting, Objects: refs(c.node), Want: string(Empty),
			Since: c.node.Claim.Conditions[snapshot.DisruptionReason].Since, Until: until,
		}
	}
}

// next reads off the marks how far a command has come.
func next(n *snapshot.Node, now time.Time, settle time.Duration) (Step, time.Time) {
	marked := n.Claim.Conditions[snapshot.DisruptionReason]
	if !tainted(n) || marked.Status != corev1.ConditionTrue || marked.Reason != string(Empty) {
		return Mark, time.Time{}
	}
	if ripe := marked.Since.Add(settle); now.Before(ripe) {
		return Settle, ripe
	}
	return Remove, time.Time{}
}

// progress ranks machines by how far a command for them has come: the condition
// is written after the taint.
func progress(n *snapshot.Node) int {
	rank := 0
	if n.Claim.Is(snapshot.DisruptionReason) {
		rank += 2
	}
	if tainted(n) {
		rank++
	}
	return rank
}
