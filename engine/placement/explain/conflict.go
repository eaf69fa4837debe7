package explain

import "math/bits"

// exact is up to how many constraints the smallest set is looked for.
const exact = 4

// conflict is the smallest set of constraints of which every cell fails at least
// one, the preferred among equals. Beyond exact constraints it is one of which none
// can be left out.
func conflict(cells []cell, list []constraint) uint64 {
	s := search{cells: cells, list: list}
	for size := 1; size <= exact; size++ {
		s.extend(0, size)
		if s.found {
			return s.best
		}
	}
	return s.shrunk()
}

type search struct {
	cells []cell
	list  []constraint
	found bool
	best  uint64
	score int
}

// extend adds to a set until it meets every cell, by at most so many constraints:
// one of those that the first cell fails which it does not meet yet.
func (s *search) extend(set uint64, size int) {
	i := 0
	for i < len(s.cells) && s.cells[i].fails&set != 0 {
		i++
	}
	if i == len(s.cells) {
		score := preference(s.list, set)
		if !s.found || score < s.score || score == s.score && set < s.best {
			s.found, s.best, s.score = true, set, score
		}
		return
	}
	if size == 0 {
		return
	}
	for rest := s.cells[i].fails; rest != 0; rest &= rest - 1 {
		s.extend(set|rest&-rest, size-1)
	}
}

// shrunk begins with all constraints and leaves out what can be, the last first.
func (s *search) shrunk() uint64 {
	var set uint64
	for _, c := range s.cells {
		set |= c.fails
	}
	for i := bits.Len64(set) - 1; i >= 0; i-- {
		without := set &^ (1 << i)
		needed := false
		for _, c := range s.cells {
			needed = needed || c.fails&without == 0
		}
		if !needed {
			set = without
		}
	}
	return set
}
