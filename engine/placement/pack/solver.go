package pack

import (
	"slices"
)

// Options bound the search.
type Options struct {
	// Work is how many steps the search may take, a step being about one look at
	// one item; the first answer is found whatever it costs. 10,000 steps are
	// about a millisecond.
	Work int
}

// solver holds what is computed once for a problem.
type solver struct {
	p     *Problem
	needs []int64 // all items' needs, one after the other
	// scale makes needs of different dimensions comparable: one over the largest
	// box. size is an item's largest need on that scale.
	scale, size []float64
	// flat dimensions are needed in equal amounts by all, like the number of pods.
	flat []bool
	// worth is what an item adds at least to the price of any set of boxes, and
	// priced how a model's price divides over what it holds, by model and
	// dimension.
	worth, priced []float64
	// potential is about the most that a model's content is worth of its price.
	potential []float64
	work      int
}

// Solve packs the items into boxes. What fits into no box, or into none that the
// pools may still buy, is left.
func Solve(p *Problem, opts Options) *Solution {
	s := newSolver(p)
	left := make([]int, len(p.Items))
	for i := range p.Items {
		left[i] = p.Items[i].Count
	}
	s.appraise(left)
	boxes := s.greedy(left, clonePools(p.Pools), taste{care: 1})
	out := &Solution{Boxes: boxes, Left: left}
	out.Bound = s.boundOf(left)
	return out
}

func newSolver(p *Problem) *solver {
	s := &solver{
		p: p, needs: make([]int64, 0, len(p.Items)*p.Dims),
		scale: make([]float64, p.Dims), size: make([]float64, len(p.Items)), flat: make([]bool, p.Dims),
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
		s.needs = append(s.needs, p.Items[i].Need...)
		for d, n := range p.Items[i].Need {
			s.size[i] = max(s.size[i], float64(n)*s.scale[d])
		}
	}
	return s
}

func (s *solver) need(item int32) []int64 {
	return s.needs[int(item)*s.p.Dims : (int(item)+1)*s.p.Dims]
}

// holds reports whether one item fits into an empty box of a model.
func (s *solver) holds(model int, item int32) bool {
	for d, n := range s.need(item) {
		if n > s.p.Models[model].Holds[d] {
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
