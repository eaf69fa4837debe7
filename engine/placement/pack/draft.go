package pack

import "slices"

const (
	// addedWeight is the fee in average boxes: a box more is a machine more to run, to
	// patch and to fail.
	addedWeight = 0.02
	// drafted is the size of the sample.
	drafted = 1_500
)

// draft packs greedily twice: by price alone, which tells what an average box costs, and
// with the fee. The better packing counts. Where there are many items, a sample is packed
// by price alone.
func (s *solver) draft(left []int, limits []int64) []Box {
	some := s.part(drafted)
	rest, available := slices.Clone(some), slices.Clone(limits)
	plain := s.greedy(rest, available)
	if len(plain) == 0 {
		return s.greedy(left, limits)
	}
	s.charge(plain)
	all := slices.Equal(some, left)
	if !all || len(plain) > s.floor.boxes(s.counts) {
		after, budgets := slices.Clone(left), slices.Clone(limits)
		out := s.greedy(after, budgets)
		if !all || slices.Equal(after, rest) && s.better(out, plain) {
			copy(left, after)
			copy(limits, budgets)
			return out
		}
	}
	copy(left, rest)
	copy(limits, available)
	return plain
}

func (s *solver) charge(boxes []Box) {
	s.fee = addedWeight * s.p.price(boxes) / float64(len(boxes))
}

// part is a proportional sample of about so many things; all of them where some cannot
// share boxes, as a sample would need too many boxes.
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
