package pack

import "slices"

// solver packs one instance. It is not safe for concurrent use.
type solver struct {
	*relaxation
	*layout
	floor *floor
	// fee is what a box costs beyond its price, see draft.
	fee float64
	// even is the share of prices that follows from needs rather than from the program.
	even float64
}

func newSolver(relaxed *relaxation) *solver {
	return &solver{relaxation: relaxed, layout: newLayout(relaxed.instance), floor: newFloor(relaxed)}
}

// Solve packs the items into boxes. What fits into no box, or into none that the
// limits still allow, is left.
func Solve(p *Problem) *Solution {
	s := newSolver(relax(p))
	boxes := s.improve(s.draft())
	for _, again := range []func() []Box{s.classed, s.repriced} {
		if !s.wasteful(boxes) {
			break
		}
		if others := again(); others != nil {
			if others = s.improve(others); s.better(others, boxes) {
				boxes = others
				break
			}
		}
	}
	s.floor.contents = s.contents(boxes)
	return &Solution{Boxes: boxes, Left: s.left(boxes), floor: s.floor}
}

// improve makes boxes cheaper, and buys more where that leaves room in the limits.
func (s *solver) improve(boxes []Box) []Box {
	boxes = s.repack(boxes, fewKinds)
	left, limits := s.left(boxes), s.available(boxes)
	boxes = s.complete(boxes, left, limits)
	boxes = s.vacate(s.recreate(boxes, limits), limits)
	return append(boxes, s.complete(s.greedy(left, limits), left, limits)...)
}

// complete downsizes boxes, and buys more where that leaves room in the limits.
func (s *solver) complete(boxes []Box, left []int, limits []int64) []Box {
	for done := 0; done < len(boxes); {
		for i := range boxes[done:] {
			s.downsize(&boxes[done+i], limits)
		}
		done, boxes = len(boxes), append(boxes, s.greedy(left, limits)...)
	}
	return boxes
}

// contentOf is how many of each item are in boxes.
func contentOf(boxes []Box, items int) []int {
	out := make([]int, items)
	for i := range boxes {
		for _, part := range boxes[i].Parts {
			out[part.Item] += part.Count
		}
	}
	return out
}

// left is what boxes leave of the items.
func (in *instance) left(boxes []Box) []int {
	out := contentOf(boxes, len(in.p.Items))
	for i, n := range out {
		out[i] = in.p.Items[i].Count - n
	}
	return out
}

// available is what boxes leave of the limits.
func (in *instance) available(boxes []Box) []int64 {
	limits := slices.Clone(in.p.Limits)
	for i := range boxes {
		buy(limits, &in.p.Models[boxes[i].Model], 1)
	}
	return limits
}

// better reports whether boxes cost less than others with the same content, with their fees.
func (s *solver) better(boxes, others []Box) bool {
	return s.costOf(boxes) < s.costOf(others)*(1-rounding) && slices.Equal(s.left(boxes), s.left(others))
}

func (s *solver) costOf(boxes []Box) float64 { return s.p.price(boxes) + s.fee*float64(len(boxes)) }

// Bound is a price that no set of boxes with all items goes below.
func Bound(p *Problem) float64 {
	f := newFloor(relax(p))
	return f.price(f.s.counts)
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
