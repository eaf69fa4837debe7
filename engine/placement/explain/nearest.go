package explain

import (
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
}

// changes is how much would have to change for the row.
func (n *near) changes() int { return bits.OnesCount64(n.fails) + len(n.few) }

// nearest is the row for which the least has to change. some are the cells that fail
// no more than others, those that fail the fewest first.
func (q *inquiry) nearest(some []cell) near {
	best, easiest := near{row: -1}, 0
	for _, c := range some {
		if best.row >= 0 && bits.OnesCount64(c.fails) > best.changes() {
			break
		}
		n := near{fails: c.fails}
		if len(q.MinValues) > 0 {
			n.few = q.unmet(q.passing(c.fails), q.held(c.fails))
		}
		cost := 0
		for i := range q.list {
			if c.fails>>i&1 == 1 {
				cost += q.list[i].kind.cost()
			}
		}
		if best.row >= 0 && (n.changes() > best.changes() || n.changes() == best.changes() && cost > easiest) {
			continue
		}
		n.row = closest(c, q.list)
		if best.row < 0 || n.changes() < best.changes() || cost < easiest || n.row < best.row {
			best, easiest = n, cost
		}
	}
	return best
}

// closest is the row of a cell that lacks the least of each constraint in turn, the
// cheapest among equals.
func closest(c cell, list []constraint) int {
	rows := c.rows
	for i := range list {
		if c.fails>>i&1 == 0 || list[i].lack == nil {
			continue
		}
		least, kept := int64(-1), bitset.Set(nil)
		for at := range rows.All() {
			n := list[i].lack(at)
			if least < 0 || n < least {
				least, kept = n, make(bitset.Set, len(rows))
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
	for i := range q.list {
		if n.fails>>i&1 == 0 {
			continue
		}
		c := q.list[i].Constraint
		if q.list[i].at != nil {
			c.Have = q.list[i].at(n.row)
		} else {
			c.Have = q.list[i].have(only)
		}
		out.Changes = append(out.Changes, c)
	}
	out.Changes = append(out.Changes, n.few...)
	return out
}
