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

// bundlesOf aggregates the items: by where they can go, then by direction.
func bundlesOf(in *instance) []bundle {
	var out []bundle
	kinds := kindsOf(in)
	for _, items := range kinds {
		least := max(fewestBundles, min(leastBundles, allBundles/len(kinds)))
		most := max(least, min(len(items)/bundleSize, mostBundles/len(kinds)))
		if len(items) <= max(most, exactBundles/len(kinds)) {
			out = append(out, singles(in, items)...)
			continue
		}
		out = append(out, fewest(in, items, most)...)
	}
	for i := range out {
		b := &out[i]
		b.models = make([]int, 0, len(in.p.Models))
		for m := range in.p.Families[in.p.Items[b.smallest].Family].bounding().All() {
			if in.holds(m, b.smallest) {
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

// kindsOf divides the items by the models that they can go into.
func kindsOf(in *instance) [][]int32 {
	index := map[string]int{}
	of := make([]int, len(in.p.Families))
	for f := range in.p.Families {
		key := string(in.p.Families[f].bounding().Bytes())
		k, ok := index[key]
		if !ok {
			k = len(index)
			index[key] = k
		}
		of[f] = k
	}
	kinds := make([][]int32, len(index))
	for i, n := range in.counts {
		if n > 0 {
			k := of[in.p.Items[i].Family]
			kinds[k] = append(kinds[k], int32(i))
		}
	}
	return kinds
}

func singles(in *instance, items []int32) []bundle {
	out := make([]bundle, len(items))
	for n, i := range items {
		out[n] = bundle{need: make([]float64, in.p.Dims), size: in.size[i], smallest: i}
		for d, a := range in.need(i) {
			out[n].need[d] = float64(a) * float64(in.counts[i])
		}
	}
	return out
}

// fewest divides items over the finest grid with few enough corners.
func fewest(in *instance, items []int32, most int) []bundle {
	for step := firstStep; step <= 64; step *= 2 {
		if out := overGrid(in, items, step, most); out != nil {
			return out
		}
	}
	return overGrid(in, items, 64, len(items)<<grid.MostSides)
}

// overGrid divides items over the corners of a grid whose directions differ by a step
// in powers of two; nil if there are more than so many.
func overGrid(in *instance, items []int32, step float64, most int) []bundle {
	index := make(map[uint64]int, min(most, len(items)))
	cells := map[uint64][1 << grid.MostSides]int{}
	var out []bundle
	c := grid.New(in.p.Dims, step)
	for _, i := range items {
		c.Surround(in.need(i), in.heading(i), in.scale)
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
					out = append(out, bundle{need: make([]float64, in.p.Dims), size: math.Inf(1)})
				}
				at[corner] = b
			}
			b := &out[at[corner]]
			c.Give(b.need, corner, in.counts[i])
			if in.size[i] < b.size {
				b.size, b.smallest = in.size[i], i
			}
		}
		if !known {
			cells[cell] = at
		}
	}
	return out
}
