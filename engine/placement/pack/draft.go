package pack

import (
	"maps"
	"math"
	"slices"
)

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
func (s *solver) draft() []Box {
	some := s.part(drafted)
	plain := s.greedy(slices.Clone(some), slices.Clone(s.p.Limits))
	s.charge(plain)
	all := slices.Equal(some, s.counts)
	if all && len(plain) <= s.p.fewestBoxes() {
		return plain
	}
	out := s.greedy(slices.Clone(s.counts), slices.Clone(s.p.Limits))
	if all && !s.better(out, plain) {
		return plain
	}
	return out
}

// fewestBoxes is how many boxes groups take at least, of which a box holds only so many. A
// packing into no more has nothing to gain from the fee.
func (p *Problem) fewestBoxes() int {
	most := slices.Max(append(slices.Collect(maps.Values(boxesOf(p))), 1))
	return int(math.Ceil(most - tiny))
}

func (s *solver) charge(boxes []Box) {
	s.fee = addedWeight * s.p.price(boxes) / float64(max(len(boxes), 1))
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
