package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack/simplex"
)

// patterns solves the cutting-stock problem by column generation: a pattern is a whole
// content of a model. It packs things of few kinds better than greedy, whose dual
// prices are those of divisible boxes: where 2.5 things fill a box, two must be worth it.
//
// The restricted master program covers all items by fractions of known patterns. Pricing
// (search.go) finds patterns of negative reduced cost.
type patterns struct {
	s    *solver
	left []int
	// things are how many there are to begin with, of so many kinds.
	things, kinds int
	// items are those of which something is left, the largest first, row their rows in the
	// master, pieces what they need, by row.
	items  []int32
	row    []int
	pieces []float64
	// found are all patterns so far, known those parts of them that are still needed.
	found, known []Box
	// master covers the items by the known patterns.
	master *simplex.Master
	// models may hold one of the items, the dearest first.
	models []int
	search search
	// efforts are those of the next search for patterns: the root makes all, and what is
	// known there is nearly enough for the nodes below it.
	efforts []effort
	// best is the incumbent.
	best []Box
	// work is how many steps are left.
	work int
}

const (
	// fewKinds is how many kinds of things are few.
	fewKinds = 24
	// stepsPerThing bounds the work by the size of the problem, up to so many things.
	stepsPerThing, manyWork = 200, 500
	// prohibitive is the price of a thing that is in no pattern.
	prohibitive = 1e3
)

// repack packs the content of boxes by patterns, if it is things of at most so many kinds and
// that comes cheaper.
func (s *solver) repack(boxes []Box, kinds int) []Box {
	p := s.patterns(boxes, kinds)
	if len(boxes) < 2 || p == nil {
		return boxes
	}
	s.charge(boxes)
	if p.solve(nil); !s.better(p.best, boxes) || slices.Min(append(s.available(p.best), 0)) < 0 {
		return boxes
	}
	return p.best
}

// patterns begins with the contents of boxes; nil if these are of more kinds than that.
func (s *solver) patterns(boxes []Box, kinds int) *patterns {
	p := &patterns{s: s, left: contentOf(boxes, len(s.counts)), row: make([]int, len(s.counts)), found: slices.Clone(boxes), best: boxes, efforts: efforts}
	for _, n := range p.left {
		if p.things += n; n > 0 {
			p.kinds++
		}
	}
	p.work = stepsPerThing * min(p.things, manyWork)
	if p.kinds > kinds {
		return nil
	}
	return p
}

// solve is branch and bound by diving: it buys the patterns of which the master has whole
// boxes, or else branches on those of which it has most, and prunes where the master's
// bound is no better than the incumbent. At each node the rest packed greedily is a
// candidate.
func (p *patterns) solve(bought []Box) {
	if !p.begin() {
		p.consider(bought)
		return
	}
	p.relax()
	p.efforts = efforts[:1]
	if p.s.costOf(bought)+p.master.Cost() >= p.s.costOf(p.best)*(1-worthwhile) {
		return
	}
	p.consider(slices.Concat(bought, p.s.greedy(slices.Clone(p.left), nil)))
	columns := p.columnsOfMost()
	left, known := slices.Clone(p.left), p.known
	whole := bought[:len(bought):len(bought)]
	for _, c := range columns {
		for range min(int(p.master.X[c]+near), repeats(p.left, known[p.master.Basis[c]].Parts)) {
			whole = append(whole, p.take(known[p.master.Basis[c]]))
		}
	}
	if len(whole) > len(bought) {
		p.solve(whole)
		copy(p.left, left)
		return
	}
	var next []Box
	for _, c := range columns[:min(len(columns), branches)] {
		next = append(next, p.clip(known[p.master.Basis[c]]))
	}
	for i := range next {
		if i > 0 && p.work <= 0 {
			return
		}
		p.solve(append(bought[:len(bought):len(bought)], p.take(next[i])))
		copy(p.left, left)
	}
}

// branches is how many patterns a node branches on.
const branches = 3

// columnsOfMost are the rows of the patterns that the master buys, those of which it
// buys most first.
func (p *patterns) columnsOfMost() []int {
	var out []int
	for r, name := range p.master.Basis {
		if name >= 0 && p.master.X[r] > tiny {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(p.master.X[b], p.master.X[a]) })
	return out
}

func (p *patterns) consider(boxes []Box) {
	if p.s.better(boxes, p.best) {
		p.best = slices.Clone(boxes)
	}
}

// begin makes a restricted master for what is left; false if nothing is.
func (p *patterns) begin() bool {
	p.items, p.pieces = p.items[:0], p.pieces[:0]
	for i, n := range p.left {
		if n > 0 {
			p.items = append(p.items, int32(i))
		}
	}
	slices.SortFunc(p.items, p.s.byFallingSize)
	for r, i := range p.items {
		p.row[i], p.pieces = r, append(p.pieces, p.s.scaled(p.s.need(i))...)
	}
	p.models = p.models[:0]
	for _, m := range p.s.dearest {
		if slices.ContainsFunc(p.items, func(i int32) bool { return p.s.accepts(m, i) }) {
			p.models = append(p.models, m)
		}
	}
	p.known = nil
	n := len(p.items)
	demand := make([]float64, n)
	for r, i := range p.items {
		demand[r] = float64(p.left[i])
	}
	p.master = simplex.NewMaster(demand, slices.Repeat([]float64{1}, n), slices.Repeat([]float64{prohibitive}, n))
	for _, b := range p.found {
		if b = p.clip(b); len(b.Parts) > 0 {
			p.learn(b)
		}
	}
	p.work -= len(p.found)
	for _, i := range p.items {
		p.alone(i)
	}
	return n > 0
}

// alone learns the box that holds one item at the lowest price for each.
func (p *patterns) alone(item int32) {
	var best Box
	var l Load
	least := math.Inf(1)
	for _, m := range p.models {
		if !p.s.accepts(m, item) {
			continue
		}
		l.Reset(&p.s.p.Models[m])
		n := l.Room(p.s.familyOf(item), p.s.need(item), p.left[item])
		if n == 0 || p.s.costs(m)/float64(n) >= least {
			continue
		}
		if b := (Box{m, []Part{{int(item), n}}}); p.s.contains(&b, m) {
			best, least = b, p.s.costs(m)/float64(n)
		}
	}
	if best.Parts != nil {
		p.learn(best)
	}
}

// learn adds a pattern; false if it was known.
func (p *patterns) learn(b Box) bool {
	if slices.ContainsFunc(p.known, func(k Box) bool { return k.Model == b.Model && slices.Equal(k.Parts, b.Parts) }) {
		return false
	}
	column := make([]simplex.Entry, len(b.Parts))
	for i, part := range b.Parts {
		column[i] = simplex.Entry{Row: p.row[part.Item], Value: float64(part.Count)}
	}
	p.known = append(p.known, b)
	p.master.Learn(p.s.costs(b.Model), column)
	return true
}

// relax solves the master by column generation. It looks again at the models that had a
// pattern, and at all when none has (partial pricing).
func (p *patterns) relax() {
	fresh := 0
	for _, p.search.effort = range p.efforts {
		for among := p.models; ; {
			p.master.Pivot(fresh)
			fresh = len(p.known)
			var next []int
			for _, m := range among {
				if b := p.richest(m); b != nil && p.learn(*b) {
					p.found, next = append(p.found, *b), append(next, m)
				}
			}
			if len(next) == 0 && len(among) == len(p.models) {
				break
			}
			if among = next; len(next) == 0 {
				among = p.models
			}
		}
	}
}

// clip is a box without what is not left.
func (p *patterns) clip(b Box) Box {
	out := Box{Model: b.Model}
	for _, part := range b.Parts {
		if n := min(part.Count, p.left[part.Item]); n > 0 {
			out.Parts = append(out.Parts, Part{part.Item, n})
		}
	}
	return out
}

// take takes the content of a box from what is left.
func (p *patterns) take(b Box) Box {
	for _, part := range b.Parts {
		p.left[part.Item] -= part.Count
	}
	return Box{b.Model, slices.Clone(b.Parts)}
}
