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
	left, limits := slices.Clone(s.counts), slices.Clone(p.Limits)
	boxes := s.repack(s.draft(left, limits), limits)
	for done := 0; done < len(boxes); {
		for i := range boxes[done:] {
			s.downsize(&boxes[done+i], limits)
		}
		// Smaller boxes may have left room in the limits.
		done, boxes = len(boxes), append(boxes, s.greedy(left, limits)...)
	}
	packed := slices.Clone(s.counts)
	for i, n := range left {
		packed[i] -= n
	}
	boxes = s.vacate(boxes, packed, limits)
	s.floor.contents = s.contents(boxes, packed)
	return &Solution{Boxes: boxes, Left: left, floor: s.floor, unit: unit}
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
