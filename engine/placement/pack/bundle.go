package pack

import (
	"math"
	"slices"
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
	return overGrid(in, items, 64, len(items)<<mostSides)
}

// overGrid divides items over the corners of a grid whose directions differ by a step
// in powers of two; nil if there are more than so many.
func overGrid(in *instance, items []int32, step float64, most int) []bundle {
	c := &corners{in: in, step: step, sides: make([]sides, in.p.Dims), need: make([]float64, in.p.Dims), index: map[uint64]int{}}
	for _, i := range items {
		if c.divide(i); len(c.bundles) > most {
			return nil
		}
	}
	return c.bundles
}

// corners are the directions of a grid, with what they have of the items.
type corners struct {
	in   *instance
	step float64
	// sides are those of an item, need what it would need at one of its corners.
	sides []sides
	need  []float64
	// index finds bundles by a hash of their corner. Two have the same about once in 2^64
	// cases; then the bound is a little lower.
	index   map[uint64]int
	bundles []bundle
}

// sides are the lines of the grid between which an item's need of a dimension is, what it
// would need there, and how much of it goes to the second. It is nothing if it is on a line.
type sides struct {
	line [2]int
	need [2]float64
	part float64
}

// mostSides is over how many ratios an item is divided; by the others it is only told apart.
const mostSides = 3

// divide gives an item to the corners around its direction.
func (c *corners) divide(item int32) {
	divided := c.surround(item)
	for corner := range 1 << divided {
		key, part := uint64(0), 1.0
		for d, side := range c.sides {
			at := 0
			if side.part > 0 {
				at, corner = corner&1, corner>>1
				part *= [2]float64{1 - side.part, side.part}[at]
			}
			c.need[d] = side.need[at]
			key = key*0x9e3779b97f4a7c15 + uint64(side.line[at])
		}
		c.give(item, part, key)
	}
}

// surround finds the sides of an item, and returns how many of its ratios are divided.
func (c *corners) surround(item int32) (divided int) {
	base := 0.0
	for d, n := range c.in.need(item) {
		need, side := float64(n), &c.sides[d]
		switch {
		case n == 0:
			*side = sides{line: [2]int{math.MaxInt16}}
		case base == 0:
			base = need * c.in.scale[d]
			*side = sides{line: [2]int{math.MaxInt16 - 1}, need: [2]float64{need}}
		default:
			place, unit := c.in.heading(item)[d]/c.step, base/c.in.scale[d]
			low := int(math.Floor(place))
			from, to := math.Exp2(float64(low)*c.step), math.Exp2(float64(low+1)*c.step)
			part := (need*c.in.scale[d]/base - from) / (to - from)
			if divided == mostSides || part < tiny {
				*side = sides{line: [2]int{int(math.Round(place))}, need: [2]float64{need}}
				continue
			}
			*side = sides{[2]int{low, low + 1}, [2]float64{from * unit, to * unit}, part}
			divided++
		}
	}
	return divided
}

// give adds a part of an item to a corner.
func (c *corners) give(item int32, part float64, key uint64) {
	n, ok := c.index[key]
	if !ok {
		n = len(c.bundles)
		c.index[key], c.bundles = n, append(c.bundles, bundle{need: make([]float64, len(c.need)), size: math.Inf(1)})
	}
	b := &c.bundles[n]
	for d, need := range c.need {
		b.need[d] += part * need * float64(c.in.counts[item])
	}
	if c.in.size[item] < b.size {
		b.size, b.smallest = c.in.size[item], item
	}
}
