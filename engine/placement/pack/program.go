package pack

import (
	"math"
	"slices"
)

// program is the linear program over divided boxes. Its columns are models with a
// divided content; the master picks columns that cover all bundles at the least
// price, and its dual values promise what the bundles are worth. For each model a
// small program then finds the content that is worth most, and its own dual the
// prices of the model's dimensions, which prove what the bundles are worth at
// least. What is promised comes down to what is proven.
type program struct {
	s       *solver
	bundles []bundle
	// by are the bundles that go into each model.
	by [][]int
	// leads are the models that are looked at; stands is for every model a lead
	// that takes the same bundles and holds at least as much of everything for its
	// price.
	leads  []int
	stands []int
	master *simplex
	// inner is the small program of one model, relative what the bundles need by
	// worth.
	inner    simplex
	relative []float64
	room     []float64
	column   []entry
	// proven are the best prices yet, by model and dimension, worth what the
	// bundles come to with them, total their sum.
	proven, worth []float64
	total         float64
}

const (
	programRounds = 60
	masterPivots  = 400
	// near is the share of the total at which what is promised is close enough to
	// what is proven.
	near = 5e-4
	// worthwhile is the share of a model's price that a new column must save.
	worthwhile = 1e-4
	// slackOfPotential allows for bundles being only about alike.
	slackOfPotential = 0.01
)

func (s *solver) newProgram(bundles []bundle) *program {
	g := &program{s: s, bundles: bundles, by: make([][]int, len(s.p.Models)), stands: make([]int, len(s.p.Models))}
	for b := range bundles {
		for _, m := range bundles[b].models {
			g.by[m] = append(g.by[m], b)
		}
	}
	g.chooseLeads()
	for b := range bundles {
		bundles[b].models = slices.DeleteFunc(bundles[b].models, func(m int) bool { return g.stands[m] != m })
	}
	g.inner, g.room = *emptySimplex(s.p.Dims), make([]float64, s.p.Dims)
	g.relative = make([]float64, len(bundles)*s.p.Dims)
	g.worth = make([]float64, len(bundles))
	g.proven = make([]float64, len(s.p.Models)*s.p.Dims)
	return g
}

// chooseLeads finds out which models cannot be beaten by another one with the
// same bundles.
func (g *program) chooseLeads() {
	order := make([]int, 0, len(g.by))
	density := make([]float64, len(g.by)*g.s.p.Dims)
	sum := make([]float64, len(g.by))
	for m := range g.by {
		g.stands[m] = m
		if len(g.by[m]) == 0 {
			continue
		}
		order = append(order, m)
		price := max(g.s.p.Models[m].Price, tiny)
		for d, n := range g.s.holdsOf(m) {
			density[m*g.s.p.Dims+d] = float64(n) / price
			sum[m] += float64(n) / price * g.s.scale[d]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case sum[a] > sum[b]:
			return -1
		case sum[a] < sum[b]:
			return 1
		}
		return len(g.by[b]) - len(g.by[a])
	})
	for _, m := range order {
		mine := density[m*g.s.p.Dims : (m+1)*g.s.p.Dims]
		beaten := slices.IndexFunc(g.leads, func(l int) bool {
			for d, n := range mine {
				if density[l*g.s.p.Dims+d] < n {
					return false
				}
			}
			return contains(g.by[l], g.by[m])
		})
		if beaten >= 0 {
			g.stands[m] = g.leads[beaten]
			continue
		}
		g.leads = append(g.leads, m)
	}
	slices.Sort(g.leads)
}

// contains reports whether all of b, ascending, is in a, ascending.
func contains(a, b []int) bool {
	if len(a) < len(b) {
		return false
	}
	i := 0
	for _, x := range b {
		for i < len(a) && a[i] < x {
			i++
		}
		if i == len(a) || a[i] != x {
			return false
		}
	}
	return true
}

// fraction is a divided content of a model: shares of bundles.
type fraction struct {
	model   int
	entries []entry
}

// relax solves the program.
func (g *program) relax() {
	g.start()
	var columns []fraction
	worth := make([]float64, len(g.bundles))
	for range programRounds {
		total := 0.0
		for b, v := range g.master.dual {
			worth[b] = max(0, v)
			total += worth[b]
		}
		// Half-way between what is promised and what is proven it settles sooner.
		for b := range worth {
			worth[b] = (worth[b] + g.worth[b]) / 2
		}
		fresh := g.price(worth)
		if total-g.total <= near*total {
			return
		}
		if len(fresh) == 0 {
			for b, v := range g.master.dual {
				worth[b] = max(0, v)
			}
			if fresh = g.price(worth); len(fresh) == 0 {
				return
			}
		}
		columns = append(columns, fresh...)
		g.pivot(columns)
	}
}

// start makes the master of the best model for each bundle alone.
func (g *program) start() {
	n := len(g.bundles)
	demand, diagonal, cost, names := make([]float64, n), make([]float64, n), make([]float64, n), make([]int, n)
	for b := range g.bundles {
		demand[b] = 1
		best := math.Inf(1)
		for _, m := range g.bundles[b].models {
			if most := g.s.most(m, g.bundles[b].need); g.s.p.Models[m].Price < best*most {
				best, cost[b], diagonal[b] = g.s.p.Models[m].Price/most, g.s.p.Models[m].Price, most
			}
		}
		names[b] = -1 - b
	}
	g.master = newSimplex(demand, diagonal, cost, names)
}

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

// price finds for each model its most valuable content, and returns those that
// are worth more than the model is by what the master promises. The prices that
// come out are kept if they prove more than before.
func (g *program) price(worth []float64) []fraction {
	dims := g.s.p.Dims
	g.relate(worth)
	prices := make([]float64, len(g.proven))
	var out []fraction
	for _, m := range g.leads {
		g.richest(m, worth)
		mine := prices[m*dims : (m+1)*dims]
		for d := range mine {
			mine[d] = max(0, -g.inner.dual[d]) * g.s.scale[d]
		}
		g.s.stretch(m, mine)
		column, promise := g.content(m, worth)
		if promise > g.s.p.Models[m].Price*(1+worthwhile) {
			out = append(out, column)
		}
	}
	g.prove(prices)
	return out
}

// content reads the content that richest found, and what the master promises for
// it.
func (g *program) content(model int, worth []float64) (fraction, float64) {
	out, promise := fraction{model: model}, 0.0
	for r, name := range g.inner.basis {
		if name >= 0 && g.inner.x[r] > 0 {
			value := g.inner.x[r] / worth[name]
			out.entries = append(out.entries, entry{row: name, value: value})
			promise += value * g.master.dual[name]
		}
	}
	return out, promise
}

// prove finds out what prices say about the bundles, and keeps them if that is
// more than what is known.
func (g *program) prove(prices []float64) {
	dims := g.s.p.Dims
	worth, total := make([]float64, len(g.bundles)), 0.0
	for b := range g.bundles {
		least := math.Inf(1)
		for _, m := range g.bundles[b].models {
			sum := 0.0
			for d, n := range g.bundles[b].need {
				sum += n * prices[m*dims+d]
			}
			least = min(least, sum)
		}
		worth[b] = least
		total += least
	}
	if total > g.total {
		g.proven, g.worth, g.total = prices, worth, total
	}
}

// relate divides what the bundles need by what they are worth, so that bundles of
// all sizes count alike.
func (g *program) relate(worth []float64) {
	dims := g.s.p.Dims
	for b := range g.bundles {
		for d, n := range g.bundles[b].need {
			g.relative[b*dims+d] = n * g.s.scale[d] / max(worth[b], tiny)
		}
	}
}

// richest solves: most x with relative·x <= holds, x being what of each bundle
// goes into the model, in units of worth, and returns its sum. The negated dual of
// the result are the least prices of the dimensions at which no bundle is worth
// more than what it needs.
func (g *program) richest(model int, worth []float64) float64 {
	lp, dims := &g.inner, g.s.p.Dims
	for d, n := range g.s.holdsOf(model) {
		g.room[d] = float64(n) * g.s.scale[d]
	}
	lp.reset(g.room)
	for range 50 * dims {
		best, at := tiny, -1
		for _, b := range g.by[model] {
			gain := 1.0
			for d, n := range g.relative[b*dims : (b+1)*dims] {
				gain += lp.dual[d] * n
			}
			if gain > best && worth[b] > 0 {
				best, at = gain, b
			}
		}
		slack := wrongSign(lp)
		switch {
		case slack >= 0:
			g.column = append(g.column[:0], entry{slack, 1})
			lp.enter(-1-slack, g.column, 0)
			continue
		case at < 0:
			return -lp.cost()
		}
		g.column = g.column[:0]
		for d, n := range g.relative[at*dims : (at+1)*dims] {
			g.column = append(g.column, entry{d, n})
		}
		if !lp.enter(at, g.column, -1) {
			break
		}
	}
	return -lp.cost()
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

// pivot improves the master among the known columns until none lowers the price.
func (g *program) pivot(columns []fraction) {
	lp := g.master
	for range masterPivots {
		best, at := -worthwhile/10, -1
		for c := range columns {
			price := g.s.p.Models[columns[c].model].Price
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
			lp.enter(at, columns[at].entries, g.s.p.Models[columns[at].model].Price)
		}
	}
}

// finish returns the best prices that were found, by model and dimension, and
// fills in the models' potential: about the most that their content is worth of
// their price.
func (g *program) finish() []float64 {
	dims := g.s.p.Dims
	g.relate(g.worth)
	for m := range g.s.p.Models {
		lead := g.stands[m]
		prices := g.proven[m*dims : (m+1)*dims]
		if lead == m {
			if len(g.by[m]) > 0 {
				g.s.potential[m] = min(1, g.richest(m, g.worth)/max(g.s.p.Models[m].Price, tiny)) + slackOfPotential
			}
			g.s.stretch(m, prices)
			continue
		}
		copy(prices, g.proven[lead*dims:(lead+1)*dims])
		full := cost(g.s.holdsOf(m), prices) / max(g.s.p.Models[m].Price, tiny)
		g.s.potential[m] = min(1, full) + slackOfPotential
		g.s.stretch(m, prices)
	}
	return g.proven
}
