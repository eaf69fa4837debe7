package pack

import (
	"cmp"
	"math"
	"slices"
)

// instance is a problem compiled to vectors. It does not change.
type instance struct {
	p *Problem
	// unit is the price of which one here is a share.
	unit float64
	// counts are the items that there are, needs what they need, one after the other.
	counts []int
	needs  []int64
	// usable is what the models hold, in multiples of what the items need by.
	usable []int64
	// measured is the number of dimensions that are resources; the others are groups of
	// which a box holds only so many.
	measured int
	// scale makes dimensions comparable: one over the largest box. size is an item's
	// largest need of a resource on that scale, headings are the logarithms of its needs
	// over the first of them, NaN for what it does not need and for the first.
	scale, size, headings []float64
	// flat dimensions are needed in equal amounts by all, like the number of pods.
	flat []bool
	// dearest are the models by their prices, the highest first, equal ones in order.
	dearest []int
}

// relativePrices is the problem with prices in shares of the highest, which is returned as
// well, rounded so that the currency makes no difference.
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

func newInstance(p *Problem, measured int) *instance {
	in := &instance{
		p: p, counts: make([]int, len(p.Items)), needs: make([]int64, 0, len(p.Items)*p.Dims), measured: measured,
		scale: make([]float64, p.Dims), size: make([]float64, len(p.Items)), flat: make([]bool, p.Dims),
		headings: make([]float64, 0, len(p.Items)*p.Dims),
	}
	for d := range in.scale {
		largest := int64(1)
		for m := range p.Models {
			largest = max(largest, p.Models[m].Holds[d])
		}
		in.scale[d], in.flat[d] = 1/float64(largest), len(p.Items) > 0
		for i := range p.Items {
			in.flat[d] = in.flat[d] && p.Items[i].Need[d] == p.Items[0].Need[d]
		}
	}
	for i := range p.Items {
		in.counts[i] = p.Items[i].Count
		in.needs = append(in.needs, p.Items[i].Need...)
		for d, n := range p.Items[i].Need[:measured] {
			in.size[i] = max(in.size[i], float64(n)*in.scale[d])
		}
		in.addHeading(p.Items[i].Need)
	}
	for m := range p.Models {
		in.dearest = append(in.dearest, m)
	}
	slices.SortStableFunc(in.dearest, func(a, b int) int { return cmp.Compare(p.Models[b].Price, p.Models[a].Price) })
	in.roundDown()
	return in
}

func (in *instance) addHeading(need []int64) {
	base := 0.0
	for d, n := range need {
		heading := math.NaN()
		switch scaled := float64(n) * in.scale[d]; {
		case n == 0:
		case base == 0:
			base = scaled
		default:
			heading = math.Log2(scaled / base)
		}
		in.headings = append(in.headings, heading)
	}
}

// roundDown fills in usable: if everything that a model may hold needs a multiple of
// 4 GiB, it holds 28 of its 30 GiB.
func (in *instance) roundDown() {
	dims := in.p.Dims
	steps := make([]int64, len(in.p.Families)*dims)
	for i := range in.p.Items {
		f := in.p.Items[i].Family
		for d, n := range in.p.Items[i].Need {
			steps[f*dims+d] = gcd(steps[f*dims+d], n)
		}
	}
	for m := range in.p.Models {
		step := make([]int64, dims)
		for f := range in.p.Families {
			if in.p.Families[f].bounding().Has(m) {
				for d := range step {
					step[d] = gcd(step[d], steps[f*dims+d])
				}
			}
		}
		for d, n := range in.p.Models[m].Holds {
			in.usable = append(in.usable, n-n%max(step[d], 1))
		}
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (in *instance) need(item int32) []int64 {
	return in.needs[int(item)*in.p.Dims : (int(item)+1)*in.p.Dims]
}

// scaled is an amount in which the dimensions are comparable.
func (in *instance) scaled(amount []int64) []float64 {
	out := make([]float64, len(amount))
	for d, n := range amount {
		out[d] = float64(n) * in.scale[d]
	}
	return out
}

// holdsOf is what can be used of a model.
func (in *instance) holdsOf(model int) []int64 {
	return in.usable[model*in.p.Dims : (model+1)*in.p.Dims]
}

// holds reports whether one item fits into an empty box of a model.
func (in *instance) holds(model int, item int32) bool {
	return fits(in.need(item), in.p.Models[model].Holds)
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

func (in *instance) heading(item int32) []float64 {
	return in.headings[int(item)*in.p.Dims : (int(item)+1)*in.p.Dims]
}

// accepts reports whether a model may hold one of an item.
func (in *instance) accepts(model int, item int32) bool {
	return in.familyOf(item).Models.Has(model) && in.holds(model, item)
}

func (in *instance) familyOf(item int32) *Family { return &in.p.Families[in.p.Items[item].Family] }

// byFallingSize compares items, the largest first, equal ones by their numbers.
func (in *instance) byFallingSize(a, b int32) int {
	return cmp.Or(cmp.Compare(in.size[b], in.size[a]), int(a-b))
}
