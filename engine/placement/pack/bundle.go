package pack

import (
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack/grid"
)

// bundle is an amount of items, as the linear program sees them, that can go into
// the same models and have one direction: the same ratio of everything.
//
// Few items are a bundle each. Many are divided over the corners of a grid of
// directions, such that what they need comes out right. Since an item's worth is a
// concave function of its need, what is proven for the corners holds for what is
// between them.
type bundle struct {
	need []float64 // the sum
	// models are those that can hold some of the items at all.
	models []int
	// size is that of the smallest item, which is smallest.
	size     float64
	smallest int32
}

// bundles sorts the items into bundles: first by where they can go, then by
// direction.
func (s *solver) bundles(left []int) []bundle {
	var out []bundle
	kinds := s.kinds(left)
	for _, items := range kinds {
		least := max(fewestBundles, min(leastBundles, allBundles/len(kinds)))
		most := max(least, min(len(items)/bundleSize, mostBundles/len(kinds)))
		if len(items) <= max(most, exactBundles/len(kinds)) {
			out = append(out, s.singles(items, left)...)
			continue
		}
		out = append(out, s.fewest(items, left, most)...)
	}
	for i := range out {
		b := &out[i]
		b.models = make([]int, 0, len(s.p.Models))
		for m := range s.p.Families[s.p.Items[b.smallest].Family].bounding().All() {
			if s.holds(m, b.smallest) {
				b.models = append(b.models, m)
			}
		}
	}
	return slices.DeleteFunc(out, func(b bundle) bool { return len(b.models) == 0 })
}

// The more items there are, the finer is the grid; the kinds share what there is, as
// the time that the program takes grows with the square of their number at least.
const (
	allBundles    = 192
	fewestBundles = 4
	exactBundles  = 96
	leastBundles  = 24
	mostBundles   = 96
	bundleSize    = 40
)

// kinds divides the items by the models that they can go into.
func (s *solver) kinds(left []int) [][]int32 {
	index := map[string]int{}
	of := make([]int, len(s.p.Families))
	for f := range s.p.Families {
		key := string(s.p.Families[f].bounding().Bytes())
		k, ok := index[key]
		if !ok {
			k = len(index)
			index[key] = k
		}
		of[f] = k
	}
	kinds := make([][]int32, len(index))
	for _, i := range s.all {
		if left[i] > 0 {
			k := of[s.p.Items[i].Family]
			kinds[k] = append(kinds[k], i)
		}
	}
	return kinds
}

func (s *solver) singles(items []int32, left []int) []bundle {
	out := make([]bundle, len(items))
	for n, i := range items {
		out[n] = bundle{need: make([]float64, s.p.Dims), size: s.size[i], smallest: i}
		for d, a := range s.need(i) {
			out[n].need[d] = float64(a) * float64(left[i])
		}
	}
	return out
}

// fewest divides items over the finest grid with few enough corners. Steps that are
// too fine for some of the items are too fine for all.
func (s *solver) fewest(items []int32, left []int, most int) []bundle {
	headings := make([]float64, len(items)*s.p.Dims)
	for n, i := range items {
		s.heading(i, headings[n*s.p.Dims:(n+1)*s.p.Dims])
	}
	step := firstStep
	for some := items[:min(len(items), 4*most)]; step < 64; step *= 2 {
		if s.grid(some, headings, left, step, most) != nil {
			break
		}
	}
	for ; step <= 64; step *= 2 {
		if out := s.grid(items, headings, left, step, most); out != nil {
			return out
		}
	}
	return s.grid(items, headings, left, step, len(items)<<grid.MostSides)
}

// grid divides items over the corners of a grid whose directions differ by a step
// in powers of two; nil if there are more than so many.
func (s *solver) grid(items []int32, headings []float64, left []int, step float64, most int) []bundle {
	index := make(map[uint64]int, min(most, len(items)))
	cells := map[uint64][1 << grid.MostSides]int{}
	var out []bundle
	c := grid.New(s.p.Dims, step)
	for n, i := range items {
		c.Surround(s.need(i), headings[n*s.p.Dims:(n+1)*s.p.Dims], s.scale)
		cell := c.Cell()
		at, known := cells[cell]
		for corner := range 1 << c.Used {
			if !known {
				key := c.Key(corner)
				b, ok := index[key]
				if !ok {
					if b = len(out); b == most {
						return nil
					}
					index[key] = b
					out = append(out, bundle{need: make([]float64, s.p.Dims), size: math.Inf(1)})
				}
				at[corner] = b
			}
			b := &out[at[corner]]
			c.Give(b.need, corner, left[i])
			if s.size[i] < b.size {
				b.size, b.smallest = s.size[i], i
			}
		}
		if !known {
			cells[cell] = at
		}
	}
	return out
}

// heading is the direction of an item: for each dimension the logarithm of what is
// needed of it for what is needed of the first, in shares of the largest box. NaN
// stands for what is not needed, and for the first.
func (s *solver) heading(item int32, out []float64) {
	base := 0.0
	for d, n := range s.need(item) {
		out[d] = math.NaN()
		switch {
		case n == 0:
		case base == 0:
			base = float64(n) * s.scale[d]
		default:
			out[d] = math.Log2(float64(n) * s.scale[d] / base)
		}
	}
}
