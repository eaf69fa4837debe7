package pack

import "github.com/millwright-dev/millwright/engine/placement/pack/simplex"

// cut prepares pricing: a divisible knapsack problem for each lead, over bundles in pieces of
// about one size.
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
	g.inner = make([]simplex.Program, len(g.leads))
	for i, m := range g.leads {
		g.inner[i] = *simplex.Empty(dims)
		g.inner[i].Reset(g.s.scaled(g.s.holdsOf(m)))
	}
}

func (g *program) value(worth []float64) {
	for b, w := range worth {
		g.gain[b] = w / g.pieces[b]
	}
}

// richest solves a lead's knapsack from its last basis, and has visit see each content on
// the way.
func (g *program) richest(lead int, visit func(*simplex.Program)) float64 {
	lp := &g.inner[lead]
	for r, name := range lp.Basis {
		lp.Costs[r] = 0
		if name >= 0 {
			lp.Costs[r] = -g.gain[name]
		}
	}
	lp.Reprice()
	return lp.Fill(g.by[g.leads[lead]], g.gain, g.piece, visit)
}
