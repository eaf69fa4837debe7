package pack

import (
	"cmp"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack/simplex"
)

// search looks for the content of a model that is worth most, by branch and bound over
// the number of each item, from as many as fit down to none, first the item that loses least
// of what it is worth.
type search struct {
	items []option
	// among are the rows of items, lp is the box filled with parts of them, prices are those
	// of what is left in the box.
	among  []int
	lp     *simplex.Program
	prices []float64
	// loads are the box after so many items.
	loads []Load
	// best are the numbers of items that were worth most, and more than enough.
	best []Part
	most float64
	// left is how many steps remain.
	left int
	effort
}

// option is an item, what one is worth and what is lost by that, as what it needs costs more,
// and the number of it beyond those in the core.
type option struct {
	item        int32
	worth, loss float64
	core, count int
}

// effort is in how many steps a content is looked for, and what share it has to be worth more
// than the best, which is the model's price to begin with.
type effort struct {
	steps int
	more  float64
}

// efforts are what column generation makes, the second once the first finds nothing more.
var efforts = []effort{{100, 5e-3}, {400, worthwhile}}

const (
	// stepsToBegin are what beginning a search counts as.
	stepsToBegin = 10
	// spread is how many of an item the linear relaxation has beyond those in the core.
	spread = 3
)

// richest is a content of a model with negative reduced cost, nil if none is found.
func (p *patterns) richest(model int) *Box {
	q := &p.search
	if p.work -= stepsToBegin; p.work < 0 {
		return nil
	}
	p.start(model)
	if q.most = p.s.costs(model) * (1 + q.more); p.divided(model) <= q.most {
		return nil
	}
	q.left = q.steps
	p.descend(0, 0, p.core())
	p.work -= q.steps - q.left
	b := &Box{Model: model, Parts: q.best}
	slices.SortFunc(b.Parts, func(a, b Part) int { return cmp.Compare(a.Item, b.Item) })
	if len(b.Parts) == 0 || !p.s.contains(b, model) {
		return nil
	}
	return b
}

// start prepares to search the contents of a model.
func (p *patterns) start(model int) {
	q := &p.search
	q.items, q.among, q.best = q.items[:0], q.among[:0], nil
	for r, item := range p.items {
		if p.master.Dual[r] > tiny && p.s.accepts(model, item) {
			q.items, q.among = append(q.items, option{item: item, worth: p.master.Dual[r]}), append(q.among, r)
		}
	}
	if q.loads == nil {
		q.loads, q.lp = make([]Load, 1), simplex.Empty(p.s.p.Dims)
	}
	q.loads[0].Reset(&p.s.p.Models[model])
}

// core fills the box with most of the plain items of the linear relaxation, and returns its worth: what
// remains to be searched is about as much for a thousand things as for ten.
func (p *patterns) core() float64 {
	q, worth := &p.search, 0.0
	for r, name := range q.lp.Basis {
		if name >= 0 && p.s.familyOf(p.items[name]).Plain() {
			item := p.items[name]
			o := &q.items[slices.IndexFunc(q.items, func(o option) bool { return o.item == item })]
			family, need := p.s.familyOf(item), p.s.need(item)
			o.core = q.loads[0].Room(family, need, min(p.left[item], int(q.lp.X[r])-spread))
			q.loads[0].Add(family, need, o.core)
			worth += o.worth * float64(o.core)
		}
	}
	return worth
}

// descend branches on the number of each item from one on, where the content so far is worth
// so much and has its load at a depth. What is left is worth no more than it costs.
func (p *patterns) descend(depth, from int, worth float64) {
	q := &p.search
	if worth > q.most {
		q.most, q.best = worth*(1+q.more), chosen(q.items)
	}
	if len(q.loads) == depth+1 {
		q.loads = append(q.loads, Load{})
	}
	bound := worth + cost(q.loads[depth].Free, q.prices)
	for at := from; at < len(q.items); at++ {
		o := &q.items[at]
		family, need := p.s.familyOf(o.item), p.s.need(o.item)
		n := q.loads[depth].Room(family, need, p.left[o.item]-o.core)
		if bound-float64(n)*o.loss <= q.most {
			n = min(n, int((bound-q.most)/max(o.loss, tiny)))
		}
		for ; n > 0 && q.left > 0 && bound-float64(n)*o.loss > q.most; n-- {
			q.left--
			o.count = n
			next := &q.loads[depth+1]
			next.become(&q.loads[depth])
			next.Add(family, need, n)
			p.descend(depth+1, at+1, worth+float64(n)*o.worth)
		}
		o.count = 0
	}
}

func chosen(options []option) []Part {
	var out []Part
	for _, o := range options {
		if n := o.core + o.count; n > 0 {
			out = append(out, Part{int(o.item), n})
		}
	}
	return out
}

// divided is the linear bound of a model, and finds its dual prices.
func (p *patterns) divided(model int) float64 {
	q, s := &p.search, p.s
	holds := s.p.Models[model].Holds
	q.lp.Reset(s.scaled(holds))
	q.lp.Fill(q.among, p.master.Dual, p.pieces, func(*simplex.Program) {})
	q.prices = q.prices[:0]
	for d, v := range q.lp.Dual {
		q.prices = append(q.prices, max(0, -v)*s.scale[d])
	}
	// The program stops a little short of prices at which no item is worth more.
	short := 1.0
	for _, o := range q.items {
		short = max(short, o.worth/max(cost(s.need(o.item), q.prices), tiny*o.worth))
	}
	for d := range q.prices {
		q.prices[d] *= short
	}
	for i := range q.items {
		o := &q.items[i]
		o.loss, o.count = max(0, cost(s.need(o.item), q.prices)-o.worth), 0
	}
	slices.SortStableFunc(q.items, func(a, b option) int { return cmp.Compare(a.loss*b.worth, b.loss*a.worth) })
	return cost(holds, q.prices)
}
