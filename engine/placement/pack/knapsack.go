package pack

// A model's most valuable content is a knapsack problem over divided bundles, solved
// by a small program of its own for each lead.

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

// value finds out what a piece of each bundle is worth.
func (g *program) value(worth []float64) {
	for b, w := range worth {
		g.gain[b] = w / g.pieces[b]
	}
}

// richest fills a lead, and has visit see each content on the way. It goes on from the
// content that was best the last time.
func (g *program) richest(lead int, visit func(*simplex)) float64 {
	lp := &g.inner[lead]
	for r, name := range lp.basis {
		lp.costs[r] = 0
		if name >= 0 {
			lp.costs[r] = -g.gain[name]
		}
	}
	lp.reprice()
	return lp.fill(g.by[g.leads[lead]], g.gain, g.piece, visit)
}

// fill solves: most gain·x with piece·x <= what there is, x being the number of pieces
// of each of some bundles that go in, and returns their worth. The negated dual of the
// result are the least prices of the dimensions at which no bundle is worth more than
// what it needs.
func (lp *simplex) fill(among []int, gains, pieces []float64, visit func(*simplex)) float64 {
	dims := lp.rows
	for range 50 * dims {
		if slack := wrongSign(lp); slack >= 0 {
			lp.column = append(lp.column[:0], entry{slack, 1})
			lp.enter(-1-slack, lp.column, 0)
			continue
		}
		best, at := tiny, -1
		dual := lp.dual
		for _, b := range among {
			gain := gains[b]
			for d, n := range pieces[b*dims:][:len(dual)] {
				gain += dual[d] * n
			}
			if gain > best {
				best, at = gain, b
			}
		}
		visit(lp)
		if at < 0 {
			break
		}
		lp.column = lp.column[:0]
		for d, n := range pieces[at*dims : (at+1)*dims] {
			lp.column = append(lp.column, entry{d, n})
		}
		if !lp.enter(at, lp.column, -gains[at]) {
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
