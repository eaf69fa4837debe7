package pack

import "slices"

// solver holds what is computed once for a problem. It is not safe for
// concurrent use.
type solver struct {
	p     *Problem
	all   []int32 // all items
	needs []int64 // all items' needs, one after the other
	// usable is what the models hold, in multiples of what the items need by.
	usable []int64
	// measured is the number of dimensions that are resources; the others are groups of
	// which a box holds only so many.
	measured int
	// scale makes needs of different dimensions comparable: one over the largest
	// box. size is an item's largest need of a resource on that scale.
	scale, size []float64
	// flat dimensions are needed in equal amounts by all, like the number of pods.
	flat []bool
	// worth is what an item adds at least to the price of any set of boxes, and
	// priced how a model's price divides over what it holds, by model and
	// dimension.
	worth, priced []float64
	// potential is about the most that a model's content is worth of its price.
	potential []float64
	layout    *layout
	early     []int32 // see filler
	// counts are the items that there are, floor bounds the price of any number of
	// them.
	counts []int
	floor  *floor
	// fee is what a box counts beyond its price, see draft.
	fee float64
}

// Solve packs the items into boxes. What fits into no box, or into none that the
// pools may still buy, is left.
func Solve(p *Problem) *Solution {
	relative, unit := relativePrices(p)
	s := newSolver(binding(relative), p.Dims)
	s.appraise(s.counts)
	s.floor, s.layout = newFloor(s), s.newLayout()
	left, pools := slices.Clone(s.counts), clonePools(s.p.Pools)
	boxes := s.draft(left, pools)
	boxes = s.repack(boxes, pools)
	for i := range boxes {
		s.downsize(&boxes[i], pools)
	}
	// Smaller boxes may have left room in the limits.
	boxes = append(boxes, s.greedy(left, pools)...)
	return &Solution{Boxes: boxes, Left: left, floor: s.floor, unit: unit}
}

// relativePrices is the problem with prices in shares of the highest, which is
// returned as well. They are rounded, so that no currency makes a difference.
func relativePrices(p *Problem) (relative *Problem, unit float64) {
	for m := range p.Models {
		unit = max(unit, p.Models[m].Price)
	}
	if unit == 0 {
		return p, 1
	}
	out := *p
	out.Models = slices.Clone(p.Models)
	for m := range out.Models {
		out.Models[m].Price = float64(float32(out.Models[m].Price / unit))
	}
	return &out, unit
}

const tiny = 1e-9

// rounding is the share by which a price may be above what it was before.
const rounding = 1e-7

func newSolver(p *Problem, measured int) *solver {
	s := &solver{
		p: p, all: make([]int32, len(p.Items)), needs: make([]int64, 0, len(p.Items)*p.Dims),
		scale: make([]float64, p.Dims), size: make([]float64, len(p.Items)), flat: make([]bool, p.Dims),
		counts: make([]int, len(p.Items)), early: make([]int32, len(p.Items)), measured: measured,
	}
	for d := range s.scale {
		largest := int64(1)
		for m := range p.Models {
			largest = max(largest, p.Models[m].Holds[d])
		}
		s.scale[d], s.flat[d] = 1/float64(largest), len(p.Items) > 0
		for i := range p.Items {
			s.flat[d] = s.flat[d] && p.Items[i].Need[d] == p.Items[0].Need[d]
		}
	}
	for i := range p.Items {
		s.all[i], s.counts[i] = int32(i), p.Items[i].Count
		s.needs = append(s.needs, p.Items[i].Need...)
		for d, n := range p.Items[i].Need[:measured] {
			s.size[i] = max(s.size[i], float64(n)*s.scale[d])
		}
	}
	s.roundDown()
	return s
}

// roundDown finds out what of the boxes can be used: if everything that a model
// may hold needs a multiple of 4 GiB, the rest of 30 GiB beyond 28 is lost.
func (s *solver) roundDown() {
	dims := s.p.Dims
	steps := make([]int64, len(s.p.Families)*dims)
	for i := range s.p.Items {
		f := s.p.Items[i].Family
		for d, n := range s.p.Items[i].Need {
			steps[f*dims+d] = gcd(steps[f*dims+d], n)
		}
	}
	for m := range s.p.Models {
		step := make([]int64, dims)
		for f := range s.p.Families {
			if s.p.Families[f].bounding().Has(m) {
				for d := range step {
					step[d] = gcd(step[d], steps[f*dims+d])
				}
			}
		}
		for d, n := range s.p.Models[m].Holds {
			s.usable = append(s.usable, n-n%max(step[d], 1))
		}
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (s *solver) need(item int32) []int64 {
	return s.needs[int(item)*s.p.Dims : (int(item)+1)*s.p.Dims]
}

// holdsOf is what can be used of a model.
func (s *solver) holdsOf(model int) []int64 {
	return s.usable[model*s.p.Dims : (model+1)*s.p.Dims]
}

// holds reports whether one item fits into an empty box of a model.
func (s *solver) holds(model int, item int32) bool {
	return fits(s.need(item), s.p.Models[model].Holds)
}

func fits(need, free []int64) bool {
	free = free[:len(need)]
	for d, n := range need {
		if n > free[d] {
			return false
		}
	}
	return true
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
