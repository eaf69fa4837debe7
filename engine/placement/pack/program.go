package pack

import (
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack/simplex"
)

// program is the linear relaxation, solved by column generation. A column is a model with a
// divisible content; the restricted master covers all bundles by columns at the least
// price. Pricing is a small program for each model, whose dual prices of the dimensions
// are feasible for the dual of the whole (a Lagrangian bound). The master's value comes
// down to that bound.
type program struct {
	s       *relaxation
	bundles []bundle
	// by are the bundles that go into each model.
	by [][]int
	// leads are the models that no other dominates; stands is for every model a lead that
	// takes the same bundles and holds at least as much of everything for its price.
	leads  []int
	stands []int
	// master covers the bundles, entries are room for one of its columns.
	master  *simplex.Master
	entries []simplex.Entry
	// inner are the small programs of the leads, in their order. They look at bundles
	// in pieces of about one size: piece is what those of each bundle need, gain what
	// they are worth.
	inner       []simplex.Program
	piece, gain []float64
	// pieces are how many there are of each bundle.
	pieces []float64
	// proven are the best prices yet, by lead and dimension, worth what the bundles
	// come to with them, total their sum. tried and comes are room for others.
	proven, worth []float64
	total         float64
	tried, comes  []float64
}

const (
	programRounds = 60
	// near is the share of the total at which what is promised is close enough to
	// what is proven.
	near = 5e-4
	// worthwhile is the share of a model's price that a new column must save.
	worthwhile = 1e-4
	// slackOfPotential allows for bundles being only about alike.
	slackOfPotential = 0.01
)

func (s *relaxation) newProgram(bundles []bundle) *program {
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
	g.worth, g.comes = make([]float64, len(bundles)), make([]float64, len(bundles))
	g.proven, g.tried = make([]float64, len(g.leads)*s.p.Dims), make([]float64, len(g.leads)*s.p.Dims)
	return g
}

func (g *program) relax() {
	g.start()
	worth := make([]float64, len(g.bundles))
	for range programRounds {
		total := 0.0
		for b, v := range g.master.Dual {
			worth[b] = max(0, v)
			total += worth[b]
		}
		// Dual stabilization: half-way between the master's duals and the best proven.
		for b := range worth {
			worth[b] = (worth[b] + g.worth[b]) / 2
		}
		known := g.master.Known()
		g.price(worth)
		if total-g.total <= near*total {
			return
		}
		if known == g.master.Known() {
			for b, v := range g.master.Dual {
				worth[b] = max(0, v)
			}
			if g.price(worth); known == g.master.Known() {
				return
			}
		}
		g.master.Pivot(known)
	}
}

// start makes the master of the best model for each bundle alone.
func (g *program) start() {
	n := len(g.bundles)
	demand, diagonal, cost := slices.Repeat([]float64{1}, n), make([]float64, n), make([]float64, n)
	for b := range g.bundles {
		best := math.Inf(1)
		for _, m := range g.bundles[b].models {
			if most := g.s.most(m, g.bundles[b].need); g.s.p.Models[m].Price < best*most {
				best, cost[b], diagonal[b] = g.s.p.Models[m].Price/most, g.s.p.Models[m].Price, most
			}
		}
	}
	g.master = simplex.NewMaster(demand, diagonal, cost)
}

// most is how often a need fits into a model, fractions included.
func (in *instance) most(model int, need []float64) float64 {
	out := math.Inf(1)
	for d, n := range need {
		if n > 0 {
			out = min(out, float64(in.holdsOf(model)[d])/n)
		}
	}
	return out
}

// price finds columns of negative reduced cost: for each model the content that is worth
// most, and those on the way there, with which the master needs half as many rounds. The
// dual prices are kept if they prove more than before.
func (g *program) price(worth []float64) {
	dims := g.s.p.Dims
	g.value(worth)
	for i, m := range g.leads {
		g.richest(i, func(lp *simplex.Program) { g.offer(lp, g.s.p.Models[m].Price) })
		mine := g.tried[i*dims : (i+1)*dims]
		for d := range mine {
			mine[d] = max(0, -g.inner[i].Dual[d]) * g.s.scale[d]
		}
		g.s.stretch(m, mine)
	}
	g.prove()
}

// offer makes a column of the content that richest is at, if it lowers the price.
func (g *program) offer(lp *simplex.Program, price float64) {
	g.entries = g.entries[:0]
	for r, name := range lp.Basis {
		if name >= 0 && lp.X[r] > 0 {
			g.entries = append(g.entries, simplex.Entry{Row: name, Value: lp.X[r] / g.pieces[name]})
		}
	}
	if g.master.Reduced(g.entries, price) < -worthwhile*price {
		g.master.Learn(price, slices.Clone(g.entries))
	}
}

// prove keeps the dual prices that were tried if their bound is the best yet.
func (g *program) prove() {
	dims, total := g.s.p.Dims, 0.0
	for b := range g.comes {
		g.comes[b] = math.Inf(1)
	}
	for i, m := range g.leads {
		prices := g.tried[i*dims : (i+1)*dims]
		for _, b := range g.by[m] {
			sum := 0.0
			for d, n := range g.bundles[b].need {
				sum += n * prices[d]
			}
			g.comes[b] = min(g.comes[b], sum)
		}
	}
	for _, w := range g.comes {
		total += w
	}
	if total > g.total {
		g.total = total
		g.proven, g.tried = g.tried, g.proven
		g.worth, g.comes = g.comes, g.worth
	}
}

// finish returns the best dual prices, by model and dimension, and fills in potential.
func (g *program) finish() []float64 {
	dims := g.s.p.Dims
	out := make([]float64, len(g.s.p.Models)*dims)
	g.value(g.worth)
	for i, m := range g.leads {
		copy(out[m*dims:], g.proven[i*dims:(i+1)*dims])
		g.s.potential[m] = min(1, g.richest(i, func(*simplex.Program) {})/max(g.s.p.Models[m].Price, tiny)) + slackOfPotential
	}
	for m, lead := range g.stands {
		prices := out[m*dims : (m+1)*dims]
		if lead != m {
			copy(prices, out[lead*dims:(lead+1)*dims])
			full := cost(g.s.holdsOf(m), prices) / max(g.s.p.Models[m].Price, tiny)
			g.s.potential[m] = min(1, full) + slackOfPotential
		}
		g.s.stretch(m, prices)
	}
	return out
}
