package explain

import (
	"math/bits"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// cell is the rows that fail the same constraints: bit i stands for the i-th.
type cell struct {
	fails uint64
	rows  bitset.Set
}

// mostConstraints is how many constraints are told apart; what a pod and a pool
// have beyond is taken together as one.
const mostConstraints = 64

// fold makes one constraint of those beyond the number that can be told apart.
func fold(list []constraint) []constraint {
	if len(list) <= mostConstraints {
		return list
	}
	last := list[mostConstraints-1]
	last.out = last.out.Clone()
	for _, c := range list[mostConstraints:] {
		last.out.Or(c.out)
	}
	return append(slices.Clone(list[:mostConstraints-1]), last)
}

// divide sorts the rows into cells. Time grows with the number of cells, of which
// there are few: most constraints follow from the type, and a type's rows differ in
// little.
func divide(all bitset.Set, list []constraint) []cell {
	cells := []cell{{rows: all}}
	for i := range list {
		for j, n := 0, len(cells); j < n; j++ {
			failing, rest := cells[j].rows.Clone(), cells[j].rows.Clone()
			failing.And(list[i].out)
			rest.AndNot(list[i].out)
			switch {
			case failing.Empty():
			case rest.Empty():
				cells[j].fails |= 1 << i
			default:
				cells[j].rows = rest
				cells = append(cells, cell{cells[j].fails | 1<<i, failing})
			}
		}
	}
	return cells
}

// least are the cells that fail no more than others: no other cell fails a part of
// what they do. Those that fail the fewest come first.
func least(cells []cell) []cell {
	sorted := slices.Clone(cells)
	slices.SortStableFunc(sorted, func(a, b cell) int { return bits.OnesCount64(a.fails) - bits.OnesCount64(b.fails) })
	var out []cell
	for _, c := range sorted {
		if !slices.ContainsFunc(out, func(o cell) bool { return o.fails&^c.fails == 0 }) {
			out = append(out, c)
		}
	}
	return out
}
