package explain

import (
	"cmp"
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

// divide sorts the rows into cells, those first that fail the fewest. Time grows with the
// number of cells, of which there are few: most constraints follow from the type, and a
// type's rows differ in little.
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
	slices.SortStableFunc(cells, func(a, b cell) int { return bits.OnesCount64(a.fails) - bits.OnesCount64(b.fails) })
	return cells
}

// exact is up to how many constraints the smallest set is looked for.
const exact = 4

// conflict is the smallest set of constraints of which every cell fails at least
// one, the preferred among equals. Beyond exact constraints it is one of which none
// can be left out.
func conflict(cells []cell, list []constraint) uint64 {
	spared := func(set uint64) int { return slices.IndexFunc(cells, func(c cell) bool { return c.fails&set == 0 }) }
	var found []uint64
	// extend adds to a set until it meets every cell, by at most so many constraints:
	// one of those that the first cell fails which it does not meet yet.
	var extend func(set uint64, size int)
	extend = func(set uint64, size int) {
		i := spared(set)
		if i < 0 {
			found = append(found, set)
			return
		}
		for rest := cells[i].fails; rest != 0 && size > 0; rest &= rest - 1 {
			extend(set|rest&-rest, size-1)
		}
	}
	for size := 1; size <= exact; size++ {
		if extend(0, size); len(found) > 0 {
			return slices.MinFunc(found, func(a, b uint64) int {
				return cmp.Or(preference(list, a)-preference(list, b), cmp.Compare(a, b))
			})
		}
	}
	return shrink(list, func(set uint64) bool { return spared(set) < 0 })
}

// shrink leaves out of all constraints what can be while a condition holds, the last
// first.
func shrink(list []constraint, holds func(set uint64) bool) uint64 {
	set := uint64(1)<<len(list) - 1
	for i := len(list) - 1; i >= 0; i-- {
		if without := set &^ (1 << i); holds(without) {
			set = without
		}
	}
	return set
}
