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
	// columns are those that the master may choose from, candidates those that are
	// worth a look after a pivot.
	columns    []fraction
	candidates []int
	// inner are the small programs of the leads, in their order. They look at bundles
	// in pieces of about one size: piece is what those of each bundle need, gain what
	// they are worth.
	inner       []simplex
	piece, gain []float64
	// pieces are how many there are of each bundle.
	pieces []float64
	column []entry
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
	g.cut()
	g.worth = make([]float64, len(bundles))
	g.proven = make([]float64, len(s.p.Models)*s.p.Dims)
	return g
}

// cut divides the bundles into pieces and makes a small program for each lead.
func (g *program) cut() {
	dims := g.s.p.Dims
	g.piece, g.gain = make([]float64, len(g.bundles)*dims), make([]float64, len(g.bundles))
	g.pieces = make([]float64, len(g.bundles))
	for b := range g.bundles {
		piece := g.piece[b*dims : (b+1)*dims]
		for d, n := range g.bundles[b].need {
			piece[d] = n * g.s.scale[d]
			g.pieces[b] += piece[d]
		}
		g.pieces[b] = max(g.pieces[b], tiny)
		for d := range piece {
			piece[d] /= g.pieces[b]
		}
	}
	g.inner = make([]simplex, len(g.leads))
	room := make([]float64, dims)
	for i, m := range g.leads {
		for d, n := range g.s.holdsOf(m) {
			room[d] = float64(n) * g.s.scale[d]
		}
		g.inner[i] = *emptySimplex(dims)
		g.inner[i].reset(room)
	}
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
	entries []entry
	price   float64
}

// relax solves the program.
func (g *program) relax() {
	g.start()
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
		known := len(g.columns)
		g.price(worth)
		if total-g.total <= near*total {
			return
		}
		if known == len(g.columns) {
			for b, v := range g.master.dual {
				worth[b] = max(0, v)
			}
			if g.price(worth); known == len(g.columns) {
				return
			}
		}
		g.pivot(known)
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

// price finds for each model its most valuable content, and adds those that are
// worth more than the model is by what the master promises to the columns. The
// prices that come out are kept if they prove more than before.
func (g *program) price(worth []float64) {
	dims := g.s.p.Dims
	g.value(worth)
	prices := make([]float64, len(g.proven))
	for i, m := range g.leads {
		lp, price := &g.inner[i], g.s.p.Models[m].Price
		g.richest(i)
		mine := prices[m*dims : (m+1)*dims]
		for d := range mine {
			mine[d] = max(0, -lp.dual[d]) * g.s.scale[d]
		}
		g.s.stretch(m, mine)
		if column := g.content(lp, price); -g.master.reduced(column.entries, price) > worthwhile*price {
			g.columns = append(g.columns, column)
		}
	}
	g.prove(prices)
}

// content reads the content that richest found.
func (g *program) content(lp *simplex, price float64) fraction {
	out := fraction{price: price, entries: make([]entry, 0, lp.rows)}
	for r, name := range lp.basis {
		if name >= 0 && lp.x[r] > 0 {
			out.entries = append(out.entries, entry{row: name, value: lp.x[r] / g.pieces[name]})
		}
	}
	return out
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

// value finds out what a piece of each bundle is worth.
func (g *program) value(worth []float64) {
	for b, w := range worth {
		g.gain[b] = w / g.pieces[b]
	}
}

// richest solves: most gain·x with piece·x <= holds, x being the number of pieces of
// each bundle that go into the model, and returns their worth. The negated dual of
// the result are the least prices of the dimensions at which no bundle is worth more
// than what it needs. It goes on from the content that was best the last time.
func (g *program) richest(lead int) float64 {
	lp, dims := &g.inner[lead], g.s.p.Dims
	for r, name := range lp.basis {
		lp.costs[r] = 0
		if name >= 0 {
			lp.costs[r] = -g.gain[name]
		}
	}
	lp.reprice()
	for range 50 * dims {
		best, at := tiny, -1
		for _, b := range g.by[g.leads[lead]] {
			gain := g.gain[b]
			for d, n := range g.piece[b*dims : (b+1)*dims] {
				gain += lp.dual[d] * n
			}
			if gain > best {
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
		for d, n := range g.piece[at*dims : (at+1)*dims] {
			g.column = append(g.column, entry{d, n})
		}
		if !lp.enter(at, g.column, -g.gain[at]) {
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

// pivot improves the master until no column lowers the price. Before, none but the
// fresh ones did.
func (g *program) pivot(fresh int) {
	lp := g.master
	g.candidates = g.candidates[:0]
	for c := fresh; c < len(g.columns); c++ {
		g.candidates = append(g.candidates, c)
	}
	for range masterPivots {
		// A bundle may also be covered more than once.
		if spare := slices.IndexFunc(lp.dual, func(v float64) bool { return v < -tiny }); spare >= 0 {
			lp.enter(-1-2*lp.rows-spare, []entry{{spare, -1}}, 0)
			continue
		}
		at := g.cheapest()
		if at < 0 {
			g.candidates = g.candidates[:0]
			for c := range g.columns {
				g.candidates = append(g.candidates, c)
			}
			if at = g.cheapest(); at < 0 {
				return
			}
		}
		lp.enter(at, g.columns[at].entries, g.columns[at].price)
	}
}

// cheapest finds the candidate that lowers the price most, for its own price, -1 if
// none does. Those that do not are candidates no longer.
func (g *program) cheapest() int {
	least, at, kept := 0.0, -1, g.candidates[:0]
	for _, c := range g.candidates {
		column := &g.columns[c]
		r := g.master.reduced(column.entries, column.price) / max(column.price, tiny)
		if r >= -worthwhile/10 {
			continue
		}
		kept = append(kept, c)
		if r < least {
			least, at = r, c
		}
	}
	g.candidates = kept
	return at
}

// finish returns the best prices that were found, by model and dimension, and
// fills in the models' potential: about the most that their content is worth of
// their price.
func (g *program) finish() []float64 {
	dims := g.s.p.Dims
	g.value(g.worth)
	for i, m := range g.leads {
		g.s.potential[m] = min(1, g.richest(i)/max(g.s.p.Models[m].Price, tiny)) + slackOfPotential
	}
	for m := range g.s.p.Models {
		lead := g.stands[m]
		prices := g.proven[m*dims : (m+1)*dims]
		if lead == m {
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
