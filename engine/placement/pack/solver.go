package pack

import "slices"

// solver packs one instance. It is not safe for concurrent use.
type solver struct {
	*instance
	*relaxation
	*layout
	floor *floor
	// fee is what a box costs beyond its price, see draft.
	fee float64
}

// Solve packs the items into boxes. What fits into no box, or into none that the
// pools may still buy, is left.
func Solve(p *Problem) *Solution {
	relative, unit := relativePrices(p)
	in := newInstance(binding(relative), p.Dims)
	s := &solver{instance: in, relaxation: relax(in), layout: newLayout(in)}
	s.floor = newFloor(s.relaxation)
	left, pools := slices.Clone(s.counts), clonePools(s.p.Pools)
	boxes := s.repack(s.draft(left, pools), pools)
	for done := 0; done < len(boxes); {
		for i := range boxes[done:] {
			s.downsize(&boxes[done+i], pools)
		}
		// Smaller boxes may have left room in the limits.
		done, boxes = len(boxes), append(boxes, s.greedy(left, pools)...)
	}
	packed := slices.Clone(s.counts)
	for i, n := range left {
		packed[i] -= n
	}
	boxes = s.vacate(boxes, packed, pools)
	s.floor.contents = s.contents(boxes, packed)
	return &Solution{Boxes: boxes, Left: left, floor: s.floor, unit: unit}
}

// Bound is a price that no set of boxes with all items goes below.
func Bound(p *Problem) float64 {
	relative, unit := relativePrices(p)
	in := newInstance(binding(relative), p.Dims)
	return newFloor(relax(in)).of(in.counts) * unit * (1 - rounding)
}

// affords is how many more boxes of a model its pool may buy.
func affords(pools []Pool, m *Model, most int) int {
	for d, l := range pools[m.Pool].Left {
		if m.Weighs[d] > 0 {
			most = min(most, max(0, int(l/m.Weighs[d])))
		}
	}
	return most
}

// buy takes n boxes from the limits of their pool; negative gives them back.
func buy(pools []Pool, m *Model, n int) {
	for d := range pools[m.Pool].Left {
		pools[m.Pool].Left[d] -= m.Weighs[d] * int64(n)
	}
}

// clonePools is a copy whose limits can be used up.
func clonePools(pools []Pool) []Pool {
	out := slices.Clone(pools)
	for i := range out {
		out[i].Left = slices.Clone(out[i].Left)
	}
	return out
}
