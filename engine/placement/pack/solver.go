package pack

import "slices"

// solver packs one instance. It is not safe for concurrent use.
type solver struct {
	*relaxation
	*layout
	floor *floor
	// fee is what a box costs beyond its price, see draft.
	fee float64
}

// Solve packs the items into boxes. What fits into no box, or into none that the
// limits still allow, is left.
func Solve(p *Problem) *Solution {
	relaxed, unit := relax(p)
	s := &solver{relaxation: relaxed, layout: newLayout(relaxed.instance), floor: newFloor(relaxed)}
	boxes, left := s.pack(s.draft)
	packed := s.packed(left)
	if s.measured < s.p.Dims && s.wasteful(boxes, packed) {
		if others, rest := s.pack(s.repriced); slices.Equal(rest, left) && s.better(others, boxes) {
			boxes = others
		}
	}
	s.floor.contents = s.contents(boxes, packed)
	return &Solution{Boxes: boxes, Left: left, floor: s.floor, unit: unit}
}

// pack improves on the boxes that a way to buy them comes to, and returns what is left.
func (s *solver) pack(buy func(left []int, limits []int64) []Box) (boxes []Box, left []int) {
	left, limits := slices.Clone(s.counts), slices.Clone(s.p.Limits)
	boxes = s.repack(buy(left, limits), limits)
	for done := 0; done < len(boxes); {
		for i := range boxes[done:] {
			s.downsize(&boxes[done+i], limits)
		}
		// Smaller boxes may have left room in the limits.
		done, boxes = len(boxes), append(boxes, s.greedy(left, limits)...)
	}
	return s.vacate(boxes, s.packed(left), limits), left
}

// packed is how many of each item are in boxes.
func (s *solver) packed(left []int) []int {
	out := slices.Clone(s.counts)
	for i, n := range left {
		out[i] -= n
	}
	return out
}

// Bound is a price that no set of boxes with all items goes below.
func Bound(p *Problem) float64 {
	relaxed, unit := relax(p)
	return newFloor(relaxed).of(relaxed.counts) * unit * (1 - rounding)
}

// affords is how many more boxes of a model the limits allow.
func affords(limits []int64, m *Model, most int) int {
	for d, l := range limits {
		if m.Weighs[d] > 0 {
			most = min(most, max(0, int(l/m.Weighs[d])))
		}
	}
	return most
}

// buy takes n boxes from the limits; negative gives them back.
func buy(limits []int64, m *Model, n int) {
	for d := range limits {
		limits[d] -= m.Weighs[d] * int64(n)
	}
}
