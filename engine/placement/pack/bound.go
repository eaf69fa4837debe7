package pack

import "math"

// The bound comes from a linear program in which boxes and items can be divided.
//
// Let v[m] be prices of what a model holds, by dimension, such that all of it
// costs no more than the model: holds·v[m] <= price. An item is then worth
// w = min over its models of need·v[m], and whatever boxes hold a set of items
// cost at least the sum of the items' worths, since each box's content is worth
// no more than the box. That holds for any v, so nothing depends on how well the
// program was solved: a better v only gives a higher bound.
//
// The best v is found by generating columns. Items that need about the same
// ratio of everything are one bundle. A column is a model with the most valuable
// divided content; the master program picks columns that cover all bundles at
// the least price, and its dual values say what the bundles are worth.

// bundle is a number of items of one family with about the same direction.
type bundle struct {
	family int
	need   []float64 // their sum
	// models are those that can hold some of the items at all.
	models []int
}

// appraise fills in worth and priced.
func (s *solver) appraise(left []int) {
	s.worth = make([]float64, len(s.p.Items))
	s.priced = make([]float64, len(s.p.Models)*s.p.Dims)
	s.potential = make([]float64, len(s.p.Models))
	bundles := s.bundles(left)
	if len(bundles) == 0 {
		return
	}
	prices := s.priceDimensions(bundles, s.master(bundles))
	if len(bundles) > exact {
		s.tune(bundles, prices)
	}
	for i := range s.p.Items {
		s.worth[i] = s.worthOf(int32(i), prices)
	}
	for m := range s.p.Models {
		for d, n := range s.holdsOf(m) {
			s.priced[m*s.p.Dims+d] = float64(n) * prices[m*s.p.Dims+d]
		}
	}
}

// bundles sorts the items into bundles, family by family.
func (s *solver) bundles(left []int) []bundle {
	var out []bundle
	for _, l := range s.lanesOf(s.all, left, forBundles) {
		b := bundle{family: l.number, need: make([]float64, s.p.Dims)}
		for _, i := range l.items {
			for d, n := range s.need(i) {
				b.need[d] += float64(n) * float64(left[i])
			}
		}
		models := l.family.bounding()
		smallest := l.items[len(l.items)-1]
		for m := range s.p.Models {
			if models.Has(m) && s.holds(m, smallest) {
				b.models = append(b.models, m)
			}
		}
		if len(b.models) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// fraction is a divided content of a model: shares of bundles.
type fraction struct {
	model   int
	entries []entry
}

// master finds what each bundle is worth.
func (s *solver) master(bundles []bundle) []float64 {
	n := len(bundles)
	demand, diagonal, cost, names := make([]float64, n), make([]float64, n), make([]float64, n), make([]int, n)
	columns := make([]fraction, 0, 4*n)
	for b := range bundles {
		demand[b] = 1
		best := math.Inf(1)
		for _, m := range bundles[b].models {
			if most := s.most(m, bundles[b].need); s.p.Models[m].Price < best*most {
				best, cost[b], diagonal[b] = s.p.Models[m].Price/most, s.p.Models[m].Price, most
			}
		}
		names[b] = -1 - b
	}
	lp := newSimplex(demand, diagonal, cost, names)
	by := s.byModel(bundles)
	for range masterRounds {
		fresh := s.newColumns(bundles, by, lp.dual)
		if len(fresh) == 0 {
			break
		}
		columns = append(columns, fresh...)
		s.improveMaster(lp, columns)
	}
	for b := range lp.dual {
		lp.dual[b] = max(0, lp.dual[b])
	}
	return lp.dual
}

const (
	// exact is up to how many bundles the program is solved to the end.
	exact        = 64
	masterRounds = 60
	masterPivots = 400
	// worthwhile is the share of a model's price that a new column must save.
	worthwhile = 1e-4
)

// most is how often a need fits into a model, fractions included.
func (s *solver) most(model int, need []float64) float64 {
	out := math.Inf(1)
	for d, n := range need {
		if n > 0 {
			out = min(out, float64(s.holdsOf(model)[d])/n)
		}
	}
	return out
}

func (s *solver) byModel(bundles []bundle) [][]int {
	out := make([][]int, len(s.p.Models))
	for b := range bundles {
		for _, m := range bundles[b].models {
			out[m] = append(out[m], b)
		}
	}
	return out
}

// newColumns finds for each model its most valuable content, if that is worth
// more than the model.
func (s *solver) newColumns(bundles []bundle, by [][]int, worth []float64) []fraction {
	var out []fraction
	for m := range s.p.Models {
		if len(by[m]) == 0 {
			continue
		}
		lp, value := s.richest(bundles, by[m], m, worth)
		if value <= s.p.Models[m].Price*(1+worthwhile) {
			continue
		}
		column := fraction{model: m}
		for r, name := range lp.basis {
			if name >= 0 && lp.x[r] > 0 {
				column.entries = append(column.entries, entry{row: name, value: lp.x[r]})
			}
		}
		out = append(out, column)
	}
	return out
}

// richest solves: most worth·x with needs·x <= holds. The negated dual of the
// result are the least prices of the dimensions at which no bundle is worth more
// than what it needs.
func (s *solver) richest(bundles []bundle, mine []int, model int, worth []float64) (*simplex, float64) {
	dims := s.p.Dims
	b, ones, zeros, names := make([]float64, dims), make([]float64, dims), make([]float64, dims), make([]int, dims)
	for d := range dims {
		b[d], ones[d], names[d] = float64(s.holdsOf(model)[d]), 1, -1-d
	}
	lp := newSimplex(b, ones, zeros, names)
	column := make([]entry, dims)
	for range 50 * dims {
		best, at := -tiny, -1
		for _, i := range mine {
			// Relative to the worth, so that bundles of all sizes count alike.
			if worth[i] <= 0 {
				continue
			}
			cost := -worth[i]
			for d, n := range bundles[i].need {
				cost -= lp.dual[d] * n
			}
			if cost /= worth[i]; cost < best {
				best, at = cost, i
			}
		}
		slack := wrongSign(lp)
		if at < 0 && slack < 0 {
			break
		}
		if slack >= 0 {
			lp.enter(-1-slack, []entry{{slack, 1}}, 0)
			continue
		}
		for d, n := range bundles[at].need {
			column[d] = entry{d, n}
		}
		if !lp.enter(at, column, -worth[at]) {
			break
		}
	}
	value := 0.0
	for r, name := range lp.basis {
		if name >= 0 {
			value += worth[name] * lp.x[r]
		}
	}
	return lp, value
}

// wrongSign finds a dimension whose price has the wrong sign, so that some of it
// should rather stay unused; -1 if there is none.
func wrongSign(lp *simplex) int {
	for d := range lp.dual {
		if lp.dual[d] > tiny {
			return d
		}
	}
	return -1
}

// improveMaster pivots among the known columns until none lowers the price.
func (s *solver) improveMaster(lp *simplex, columns []fraction) {
	for range masterPivots {
		best, at := -worthwhile/10, -1
		for c := range columns {
			price := s.p.Models[columns[c].model].Price
			if r := lp.reduced(columns[c].entries, price) / max(price, tiny); r < best {
				best, at = r, c
			}
		}
		// A bundle may also be covered more than once.
		spare := -1
		for b, v := range lp.dual {
			if v < -tiny {
				spare = b
				break
			}
		}
		switch {
		case spare >= 0:
			lp.enter(-1-2*lp.rows-spare, []entry{{spare, -1}}, 0)
		case at < 0:
			return
		default:
			lp.enter(at, columns[at].entries, s.p.Models[columns[at].model].Price)
		}
	}
}

// priceDimensions finds for each model the prices of its dimensions that make
// the bundles' worths fit, scaled so that a full box costs no more than it does.
func (s *solver) priceDimensions(bundles []bundle, worth []float64) []float64 {
	out := make([]float64, len(s.p.Models)*s.p.Dims)
	by := s.byModel(bundles)
	for m := range s.p.Models {
		prices := out[m*s.p.Dims : (m+1)*s.p.Dims]
		full := 0.0
		if len(by[m]) > 0 {
			lp, value := s.richest(bundles, by[m], m, worth)
			s.potential[m] = min(1, value/max(s.p.Models[m].Price, tiny)) + slackOfPotential
			for d := range prices {
				prices[d] = max(0, -lp.dual[d])
				full += prices[d] * float64(s.holdsOf(m)[d])
			}
		}
		s.stretch(m, prices, full)
	}
	return out
}

// slackOfPotential allows for bundles being only about alike.
const slackOfPotential = 0.01

// stretch makes a full box cost what the model costs. Where the program put no
// price on a model, the dimensions share it by how much of them is in use.
func (s *solver) stretch(m int, prices []float64, full float64) {
	price := s.p.Models[m].Price * (1 - tiny)
	if full > 0 {
		for d := range prices {
			prices[d] *= price / full
		}
		return
	}
	for d, n := range s.holdsOf(m) {
		if n > 0 {
			prices[d] = price / float64(n) / float64(len(prices))
		}
	}
}

// worthOf is what an item adds at least to the price of any boxes.
func (s *solver) worthOf(item int32, prices []float64) float64 {
	need, dims := s.need(item), s.p.Dims
	models := s.p.Families[s.p.Items[item].Family].bounding()
	best := math.Inf(1)
	for m := range models.All() {
		sum := 0.0
		for d, n := range need {
			sum += float64(n) * prices[m*dims+d]
		}
		if sum < best && s.holds(m, item) {
			best = sum
		}
	}
	if math.IsInf(best, 1) {
		return 0
	}
	return best
}
