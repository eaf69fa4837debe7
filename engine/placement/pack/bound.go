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

// relax makes an instance of a problem and solves its relaxation.
func relax(p *Problem) *relaxation {
	relative, unit := relativePrices(p)
	in := newInstance(binding(relative), p.Dims)
	in.unit = unit
	return in.relax()
}

func (in *instance) relax() *relaxation {
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

// worthOfAll is what the program says that all items cost at least.
func (s *relaxation) worthOfAll() float64 {
	sum := 0.0
	for i, n := range s.counts {
		sum += s.worth[i] * float64(n)
	}
	return sum
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

// worthOf is what an item adds at least to the price of any boxes.
func (g *program) worthOf(item int32, prices []float64) float64 {
	s := g.s
	models, need := s.p.Families[s.p.Items[item].Family].bounding(), s.need(item)
	best, everywhere := math.Inf(1), true
	for _, m := range g.leads {
		switch {
		case !models.Has(m):
		case s.holds(m, item):
			best = min(best, cost(need, prices[m*s.p.Dims:]))
		default:
			everywhere = false
		}
	}
	// What another model stands for is never cheaper than that, if it is there.
	if !everywhere {
		for m := range models.All() {
			if g.stands[m] != m && s.holds(m, item) {
				best = min(best, cost(need, prices[m*s.p.Dims:]))
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
