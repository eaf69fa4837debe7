package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack/simplex"
)

// search looks for the content of a model that is worth most, by branch and bound over
// the number of each item, the largest item first, from as many as fit down to none.
type search struct {
	items []int32
	// worth is that of one of each item, prices are those of what is left in the box,
	// at which no item is worth more than what it needs.
	worth, prices []float64
	// loads are the box before each item, count is the number of it.
	loads []Load
	count []int
	// best are the numbers that were worth most, and more than enough.
	best []int
	most float64
	// left is how many steps remain.
	left int
}

// steps bounds one search; to begin one counts as some.
const steps, stepsToBegin = 400, 10

// richest is a content of a model with negative reduced cost, nil if none is found.
func (p *patterns) richest(model int) *Box {
	q := &p.search
	if p.work -= stepsToBegin; p.work < 0 {
		return nil
	}
	p.start(model)
	if q.most = p.s.costs(model) * (1 + worthwhile); p.divided(model) <= q.most {
		return nil
	}
	q.left = steps
	p.descend(0, 0)
	p.work -= steps - q.left
	b := &Box{Model: model}
	for i, n := range q.best {
		if n > 0 {
			b.Parts = append(b.Parts, Part{int(q.items[i]), n})
		}
	}
	slices.SortFunc(b.Parts, func(a, b Part) int { return cmp.Compare(a.Item, b.Item) })
	if len(b.Parts) == 0 || !p.s.contains(b, model) {
		return nil
	}
	return b
}

// start prepares to search the contents of a model.
func (p *patterns) start(model int) {
	q := &p.search
	q.items = q.items[:0]
	for r, item := range p.items {
		if p.master.Dual[r] > tiny && p.s.accepts(model, item) {
			q.items = append(q.items, item)
		}
	}
	slices.SortFunc(q.items, p.s.byFallingSize)
	q.count, q.best = make([]int, len(q.items)), nil
	for len(q.loads) <= len(q.items) {
		q.loads = append(q.loads, Load{})
	}
	q.loads[0].Reset(&p.s.p.Models[model])
}

// descend branches on the number of an item, where the content so far is worth so much.
func (p *patterns) descend(at int, worth float64) {
	q := &p.search
	l := &q.loads[at]
	if worth > q.most {
		q.most, q.best = worth, slices.Clone(q.count[:at])
	}
	if at == len(q.items) || worth+cost(l.Free, q.prices) <= q.most {
		return
	}
	item, next := q.items[at], &q.loads[at+1]
	family, need := p.s.familyOf(item), p.s.need(item)
	for n := l.Room(family, need, p.left[item]); n >= 0 && q.left > 0; n-- {
		q.left--
		q.count[at] = n
		next.become(l)
		if n > 0 {
			next.Add(family, need, n)
		}
		p.descend(at+1, worth+float64(n)*q.worth[at])
	}
}

// divided is the linear bound of a model, and finds its dual prices.
func (p *patterns) divided(model int) float64 {
	q, s := &p.search, p.s
	q.worth = q.worth[:0]
	var among []int
	var pieces []float64
	for i, item := range q.items {
		q.worth, among = append(q.worth, p.master.Dual[p.row[item]]), append(among, i)
		pieces = append(pieces, s.scaled(s.need(item))...)
	}
	holds := s.p.Models[model].Holds
	lp := simplex.Empty(s.p.Dims)
	lp.Reset(s.scaled(holds))
	lp.Fill(among, q.worth, pieces, func(*simplex.Program) {})
	q.prices = q.prices[:0]
	for d, v := range lp.Dual {
		q.prices = append(q.prices, max(0, -v)*s.scale[d])
	}
	// The program stops a little short of prices at which no item is worth more.
	short := 1.0
	for i, item := range q.items {
		short = max(short, q.worth[i]/cost(s.need(item), q.prices))
	}
	if math.IsInf(short, 1) {
		return short
	}
	for d := range q.prices {
		q.prices[d] *= short
	}
	return cost(holds, q.prices)
}
