package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack/simplex"
)

// Where few boxes will do, which they are matters more than what goes into each: one
// that is too many or half empty is a large part of the price. So sets of boxes are
// listed that have room for all of it together, and the cheapest are tried.

// set are the models of some boxes, the dearest first, and what they cost together.
type set struct {
	models []int
	costs  float64
}

const (
	// mostBoxes is how many boxes are few, stepsToTry what trying some counts.
	mostBoxes, stepsToTry = 5, 200
	// promising is the share of a model's price that its content must be able to be
	// worth.
	promising = 0.97
)

// compose packs what is left into few boxes that cost less than so much; nil if no such
// boxes are found.
func (p *patterns) compose(below float64) []Box {
	need := make([]int64, p.s.p.Dims)
	for _, i := range p.items {
		for d, n := range p.s.need(i) {
			need[d] += n * int64(p.left[i])
		}
	}
	sets := p.sets(need, below)
	for i := range sets {
		if p.work -= stepsToTry; p.work < 0 {
			break
		}
		if boxes := p.into(sets[i].models); boxes != nil {
			return boxes
		}
	}
	return nil
}

// sets lists the sets that have room for a need and cost less than so much, the
// cheapest first.
func (p *patterns) sets(need []int64, below float64) []set {
	models := slices.DeleteFunc(slices.Clone(p.models), func(m int) bool { return p.s.potential[m] < promising })
	// The most that any model from one on holds.
	most := make([][]int64, len(models)+1)
	most[len(models)] = make([]int64, len(need))
	for at, m := range slices.Backward(models) {
		most[at] = slices.Clone(most[at+1])
		for d, n := range p.s.p.Models[m].Holds {
			most[at][d] = max(most[at][d], n)
		}
	}
	var out []set
	chosen, free := make([]int, 0, mostBoxes), slices.Clone(need)
	var add func(from, boxes int, costs float64)
	add = func(from, boxes int, costs float64) {
		for at := from; at < len(models) && p.work > 0 && enough(most[at], boxes, free); at++ {
			p.work--
			m, total := models[at], costs+p.s.costs(models[at])
			if total >= below {
				continue
			}
			take(free, p.s.p.Models[m].Holds, 1)
			chosen = append(chosen, m)
			if boxes > 1 {
				add(at, boxes-1, total)
			} else if enough(free, 0, free) {
				out = append(out, set{slices.Clone(chosen), total})
			}
			chosen = chosen[:len(chosen)-1]
			take(free, p.s.p.Models[m].Holds, -1)
		}
	}
	for boxes := range mostBoxes {
		add(0, boxes+1, 0)
	}
	slices.SortStableFunc(out, func(a, b set) int { return cmp.Compare(a.costs, b.costs) })
	return out
}

// enough reports whether so many times as much is as much as is needed.
func enough(holds []int64, times int, need []int64) bool {
	for d, n := range need {
		if n > holds[d]*int64(times) {
			return false
		}
	}
	return true
}

func take(from, what []int64, times int64) {
	for d, n := range what {
		from[d] -= n * times
	}
}

// into packs what is left into boxes of these models; nil if that does not come out. Kind
// by kind, the largest first, it follows the program that divides what is left.
func (p *patterns) into(models []int) []Box {
	order := slices.Clone(p.items)
	slices.SortFunc(order, p.s.byFallingSize)
	loads, counts := make([]Load, len(models)), make([][]int, len(models))
	for b, m := range models {
		loads[b].Reset(&p.s.p.Models[m])
		counts[b] = make([]int, len(p.items))
	}
	for at, i := range order {
		share := p.divide(models, loads, order[at:])
		if share == nil {
			return nil
		}
		family, need, rest := p.s.familyOf(i), p.s.need(i), p.left[i]
		put := func(b, most int) {
			if p.s.accepts(models[b], i) {
				n := loads[b].Room(family, need, min(most, rest))
				loads[b].Add(family, need, n)
				counts[b][p.row[i]], rest = counts[b][p.row[i]]+n, rest-n
			}
		}
		by := make([]int, len(models))
		for b := range models {
			by[b] = b
			put(b, int(share[b]+near))
		}
		// Of the things that are divided those go first that are in a box most of all.
		slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(fraction(share[b]), fraction(share[a])) })
		for _, b := range by {
			put(b, 1)
		}
		for _, b := range by {
			put(b, rest)
		}
		if rest > 0 {
			return nil
		}
	}
	return p.boxes(models, counts)
}

func fraction(x float64) float64 { return x + near - math.Floor(x+near) }

// boxes are those of models with so many of each item; nil if one is not possible.
func (p *patterns) boxes(models []int, counts [][]int) []Box {
	var out []Box
	for b, m := range models {
		box := Box{Model: m}
		for r, n := range counts[b] {
			if n > 0 {
				box.Parts = append(box.Parts, Part{int(p.items[r]), n})
			}
		}
		if len(box.Parts) == 0 {
			continue
		}
		if !p.s.contains(&box, m) {
			return nil
		}
		out = append(out, box)
	}
	return out
}

// divide divides what is left of some items among boxes, things being divisible, and
// returns how many of the first item go into each. It is nil if more than a thing has no
// room.
func (p *patterns) divide(models []int, loads []Load, items []int32) []float64 {
	dims, kinds := p.s.p.Dims, len(items)
	rows := kinds + len(models)*dims
	room, ones, costs, names := make([]float64, rows), make([]float64, rows), make([]float64, rows), make([]int, rows)
	for r := range rows {
		ones[r], names[r] = 1, -1-r
		if r < kinds {
			room[r], costs[r] = float64(p.left[items[r]]), 1
		} else {
			b, d := (r-kinds)/dims, (r-kinds)%dims
			room[r] = float64(loads[b].Free[d]) * p.s.scale[d]
		}
	}
	lp, column := simplex.New(room, ones, costs, names), make([]simplex.Entry, 0, dims+1)
	fill := func(b, r int) []simplex.Entry {
		column = append(column[:0], simplex.Entry{Row: r, Value: 1})
		for d, n := range p.s.need(items[r]) {
			column = append(column, simplex.Entry{Row: kinds + b*dims + d, Value: float64(n) * p.s.scale[d]})
		}
		return column
	}
	for range masterPivots {
		if slack := slices.IndexFunc(lp.Dual[kinds:], func(v float64) bool { return v > tiny }); slack >= 0 {
			lp.Enter(-1-kinds-slack, []simplex.Entry{{Row: kinds + slack, Value: 1}}, 0)
			continue
		}
		least, at := -tiny, -1
		for b, m := range models {
			for r, i := range items {
				if v := lp.Reduced(fill(b, r), 0); v < least && p.s.accepts(m, i) {
					least, at = v, b*kinds+r
				}
			}
		}
		if at < 0 {
			break
		}
		lp.Enter(at, fill(at/kinds, at%kinds), 0)
	}
	if lp.Cost() > 1 {
		return nil
	}
	out := make([]float64, len(models))
	for r, name := range lp.Basis {
		if name >= 0 && name%kinds == 0 {
			out[name/kinds] = lp.X[r]
		}
	}
	return out
}
