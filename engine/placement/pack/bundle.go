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

// fewest divides items over the corners of the finest grid that has few enough of them.
func fewest(in *instance, items []int32, most int) []bundle {
	for step := firstStep; ; step *= 2 {
		if step > coarsest {
			most = math.MaxInt
		}
		c := &corners{in: in, step: step, need: make([]float64, in.p.Dims), index: map[uint64]int{}}
		for i := 0; i < len(items) && len(c.bundles) <= most; i++ {
			c.divide(items[i], 0, 1, 0, mostSides)
		}
		if len(c.bundles) <= most {
			return c.bundles
		}
	}
}

// corners are the directions of a grid, which differ by a step in powers of two, with what
// they have of the items.
type corners struct {
	in   *instance
	step float64
	// need is what an item would need at a corner.
	need []float64
	// index finds bundles by a hash of their corner. Two have the same about once in 2^64
	// cases; then the bound is a little lower.
	index   map[uint64]int
	bundles []bundle
}

// mostSides is over how many ratios an item is divided; by the others it is only told apart.
const mostSides = 3

// divide gives a part of an item to the corners around its direction. Where these are in the
// first d dimensions is in the key; of the other ratios so many may be divided.
func (c *corners) divide(item int32, d int, part float64, key uint64, sides int) {
	if d == len(c.need) {
		c.give(item, part, key)
		return
	}
	at := func(line, need, share float64, sides int) {
		c.need[d] = need
		c.divide(item, d+1, part*share, key*0x9e3779b97f4a7c15+uint64(int64(line)), sides)
	}
	need, heading := float64(c.in.need(item)[d]), c.in.heading(item)[d]
	if math.IsNaN(heading) {
		at(math.MaxInt16-min(need, 1), need, 1, sides)
		return
	}
	low := math.Floor(heading / c.step)
	from, ratio, to := math.Exp2(low*c.step), math.Exp2(heading), math.Exp2((low+1)*c.step)
	share := (ratio - from) / (to - from)
	if sides == 0 || share < tiny {
		at(math.Round(heading/c.step), need, 1, sides)
		return
	}
	at(low, need*from/ratio, 1-share, sides-1)
	at(low+1, need*to/ratio, share, sides-1)
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
