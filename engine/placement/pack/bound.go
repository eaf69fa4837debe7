package pack

import "math"

// The bound is weak duality for the linear relaxation.
//
// Let v[m] be prices of what a model holds, by dimension, such that all of it
// costs no more than the model: holds·v[m] <= price. An item is then worth
// w = min over its models of need·v[m], and whatever boxes hold a set of items
// cost at least the sum of the items' worths, since each box's content is worth
// no more than the box. That holds for any v, so nothing depends on how well the
// program was solved: a better v only gives a higher bound.
//
// The best v is found by generating columns (program.go) for bundles of items
// (bundle.go).

// relaxation is what the linear program says.
type relaxation struct {
	*instance
	// worth is what an item adds at least to the price of any set of boxes, priced how a
	// model's price divides over what it holds, by model and dimension.
	worth, priced []float64
	// potential is about the most that a model's content is worth of its price.
	potential []float64
}

func relax(in *instance) *relaxation {
	s := &relaxation{
		instance: in, worth: make([]float64, len(in.p.Items)), priced: make([]float64, len(in.p.Models)*in.p.Dims),
		potential: make([]float64, len(in.p.Models)),
	}
	bundles := bundlesOf(in)
	if len(bundles) == 0 {
		return s
	}
	g := s.newProgram(bundles)
	g.relax()
	prices := g.finish()
	g.reach = make([]reach, len(s.p.Families))
	for i := range s.p.Items {
		s.worth[i] = g.worthOf(int32(i), prices)
	}
	for m := range s.p.Models {
		for d, n := range s.holdsOf(m) {
			s.priced[m*s.p.Dims+d] = float64(n) * prices[m*s.p.Dims+d]
		}
	}
	return s
}

// stretch makes a full box cost what the model costs. Where the program put no
// price on a model, the dimensions share it by how much of them is in use.
func (in *instance) stretch(m int, prices []float64) {
	price := in.p.Models[m].Price * (1 - tiny)
	full := 0.0
	for d, n := range in.holdsOf(m) {
		full += prices[d] * float64(n)
	}
	if full > 0 {
		for d := range prices {
			prices[d] *= price / full
		}
		return
	}
	for d, n := range in.holdsOf(m) {
		if n > 0 {
			prices[d] = price / float64(n) / float64(len(prices))
		}
	}
}

// reach is where the items of a family can go: to these of the leads, everywhere with
// a need of at most so much.
type reach struct {
	leads      []int
	everywhere []int64
	// prices are those of the leads, one after the other.
	prices []float64
}

func (g *program) reachOf(family int, prices []float64) *reach {
	r := &g.reach[family]
	if r.everywhere != nil {
		return r
	}
	r.everywhere = make([]int64, g.s.p.Dims)
	for d := range r.everywhere {
		r.everywhere[d] = math.MaxInt64
	}
	models := g.s.p.Families[family].bounding()
	for _, m := range g.leads {
		if !models.Has(m) {
			continue
		}
		r.leads = append(r.leads, m)
		r.prices = append(r.prices, prices[m*g.s.p.Dims:(m+1)*g.s.p.Dims]...)
		for d, n := range g.s.p.Models[m].Holds {
			r.everywhere[d] = min(r.everywhere[d], n)
		}
	}
	return r
}

// worthOf is what an item adds at least to the price of any boxes.
func (g *program) worthOf(item int32, prices []float64) float64 {
	s := g.s
	family := s.p.Items[item].Family
	reach, need := g.reachOf(family, prices), s.need(item)
	best, everywhere := math.Inf(1), fits(need, reach.everywhere)
	for i, m := range reach.leads {
		if everywhere || s.holds(m, item) {
			best = min(best, cost(need, reach.prices[i*len(need):]))
		}
	}
	// What another model stands for is never cheaper than that, if it is there.
	if !everywhere || math.IsInf(best, 1) {
		for m := range s.p.Families[family].bounding().All() {
			if g.stands[m] != m && s.holds(m, item) {
				best = min(best, cost(s.need(item), prices[m*s.p.Dims:]))
			}
		}
	}
	if math.IsInf(best, 1) {
		return 0
	}
	return best
}

func cost(need []int64, prices []float64) float64 {
	prices = prices[:len(need)]
	sum := 0.0
	for d, n := range need {
		sum += float64(n) * prices[d]
	}
	return sum
}
