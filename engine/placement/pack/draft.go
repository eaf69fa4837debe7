package pack

import "slices"

const (
	// addedWeight is what each box more must save, in average boxes of the cheapest
	// packing: half as many boxes may cost 1 % more. A box more is a machine more to run,
	// to patch and to fail.
	addedWeight = 0.02
	// drafted is how many plain things are enough to tell how large boxes will be.
	drafted = 1_500
)

// draft packs the items greedily, twice: by price alone, which says what a box is to
// count beyond its price, and with that. The better way counts. Of very many plain things
// only an even part is packed by price alone.
func (s *solver) draft(left []int, pools []Pool) []Box {
	some := s.part(drafted)
	rest, available := slices.Clone(some), clonePools(pools)
	plain := s.greedy(rest, available)
	if len(plain) == 0 {
		return s.greedy(left, pools)
	}
	s.charge(plain)
	all := slices.Equal(some, left)
	if !all || len(plain) > s.floor.boxes(s.counts) {
		after, budgets := slices.Clone(left), clonePools(pools)
		out := s.greedy(after, budgets)
		if !all || slices.Equal(after, rest) && s.better(out, plain) {
			copy(left, after)
			copy(pools, budgets)
			return out
		}
	}
	copy(left, rest)
	copy(pools, available)
	return plain
}

// charge sets the fee by what boxes cost on average.
func (s *solver) charge(boxes []Box) {
	s.fee = addedWeight * s.priceOf(boxes) / float64(len(boxes))
}

// part is an even part of the items, about as many things as that. Items that cannot
// share boxes with each other would need too many boxes in parts.
func (s *solver) part(most int) []int {
	total := 0
	for _, n := range s.counts {
		total += n
	}
	out, seen := slices.Clone(s.counts), 0
	exclusive := func(f Family) bool { return len(f.Caps) > 0 || len(f.Conflicts) > 0 }
	if total <= most || slices.ContainsFunc(s.p.Families, exclusive) {
		return out
	}
	for _, i := range s.ranked {
		before := seen * most / total
		seen += s.counts[i]
		out[i] = seen*most/total - before
	}
	return out
}
