package explain

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/plan"
)

// near is a row, what it fails, and what the pool's minValues would still miss if it
// did not.
type near struct {
	row   int
	fails uint64
	few   []plan.Constraint
	cost  int
}

// changes is how much would have to change for the row.
func (n *near) changes() int { return bits.OnesCount64(n.fails) + len(n.few) }

// nearest is the row for which the least has to change, and that is the easiest.
func (q *inquiry) nearest() near {
	var best near
	for i, c := range q.cells {
		if i > 0 && bits.OnesCount64(c.fails) > best.changes() {
			break
		}
		n := near{row: closest(c, q.list), fails: c.fails}
		for _, of := range members(q.list, c.fails) {
			n.cost += cost[of.kind]
		}
		for _, floor := range q.unmet(c.fails) {
			n.few = append(n.few, q.tooFew(floor, c.fails))
		}
		if i == 0 || cmp.Or(n.changes()-best.changes(), n.cost-best.cost, n.row-best.row) < 0 {
			best = n
		}
	}
	return best
}

// closest is the row of a cell that lacks the least of each constraint in turn, the
// cheapest among equals.
func closest(c cell, list []constraint) int {
	rows := c.rows
	for _, of := range members(list, c.fails) {
		if of.lack == nil {
			continue
		}
		least, kept := int64(math.MaxInt64), make(bitset.Set, len(rows))
		for at := range rows.All() {
			n := of.lack(at)
			if n < least {
				least = n
				clear(kept)
			}
			if n == least {
				kept.Add(at)
			}
		}
		rows = kept
	}
	return first(rows)
}

// first is the lowest number in a set that is not empty.
func first(rows bitset.Set) int {
	for i := range rows.All() {
		return i
	}
	return -1
}

// miss is a row and what would have to change for it, in the plan's words.
func (q *inquiry) miss(n near) *plan.Miss {
	r := q.rows[n.row]
	out := &plan.Miss{InstanceType: q.types[r.Kind].Name, Zone: r.Offering.Zone, CapacityType: r.Offering.CapacityType}
	only := make(bitset.Set, len(q.all))
	only.Add(n.row)
	for _, of := range members(q.list, n.fails) {
		c := of.of(only)
		if of.at != nil {
			c.Have = of.at(n.row)
		}
		out.Changes = append(out.Changes, c)
	}
	out.Changes = append(out.Changes, n.few...)
	return out
}
