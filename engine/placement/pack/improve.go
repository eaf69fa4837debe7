package pack

import (
	"math/rand/v2"
	"slices"
)

// answer is a set of boxes on the way to the best.
type answer struct {
	boxes []Box
	left  []int
	pools []Pool
	price float64
	// missing is what the items that are left would be worth.
	missing float64
	// bound is a price that what is packed cannot go below.
	bound float64
}

// better reports whether an answer leaves less, or costs less.
func (a *answer) better(o *answer) bool {
	if o == nil || a.missing < o.missing-tiny {
		return true
	}
	return a.missing <= o.missing+tiny && a.price < o.price-tiny
}

// tastes are tried in turn.
var tastes = []taste{{care: 8, mixed: true}, {care: 3, mixed: true}, {care: 5, mixed: true}, {care: 3}}

// goodEnough is the share above the bound at which the search ends.
const goodEnough = 0.0005

// construct packs everything several times, in different ways, as long as that
// stays within half of the work, and keeps the best.
func (s *solver) construct(counts []int, work int) *answer {
	var best *answer
	for _, t := range tastes {
		before := s.work
		a := &answer{left: slices.Clone(counts), pools: clonePools(s.p.Pools)}
		a.boxes = s.greedy(s.all, a.left, a.pools, t)
		a.settle(s)
		if a.better(best) {
			best = a
		}
		if s.work+(s.work-before) > work/2 || best.done() {
			break
		}
	}
	return best
}

// done reports whether there is hardly anything left to gain.
func (a *answer) done() bool { return a.price <= a.bound*(1+goodEnough) }

// downsize gives each box the cheapest model that holds its content and adds up
// the price.
func (a *answer) downsize(s *solver) {
	a.price = 0
	for i := range a.boxes {
		s.downsize(&a.boxes[i], a.pools)
		a.price += s.p.Models[a.boxes[i].Model].Price
	}
}

// settle finds out what an answer is worth.
func (a *answer) settle(s *solver) {
	a.downsize(s)
	for i, n := range a.left {
		a.missing += s.worth[i] * float64(n)
	}
	packed := slices.Clone(s.counts)
	for i, n := range a.left {
		packed[i] -= n
	}
	a.bound = s.floor.of(packed)
}

// downsize finds the cheapest model for a box's content.
func (s *solver) downsize(b *Box, pools []Pool) {
	need := make([]int64, s.p.Dims)
	for _, part := range b.Parts {
		for d, n := range s.need(int32(part.Item)) {
			need[d] += n * int64(part.Count)
		}
	}
	for m := range s.p.Models {
		model, now := &s.p.Models[m], &s.p.Models[b.Model]
		if model.Price < now.Price && fits(need, model.Holds) && s.contains(b, m) && affords(pools, model, 1) > 0 {
			buy(pools, now, -1)
			buy(pools, model, 1)
			b.Model = m
		}
	}
}

// contains reports whether a model can take the content of a box.
func (s *solver) contains(b *Box, model int) bool {
	var l Load
	l.Reset(&s.p.Models[model])
	for _, part := range b.Parts {
		f := &s.p.Families[s.p.Items[part.Item].Family]
		if !f.Models.Has(model) || l.Room(f, s.need(int32(part.Item)), part.Count) < part.Count {
			return false
		}
		if f.Variants != nil && l.Open != nil {
			v, ok := l.Variant(f, model, s.p.Cells)
			if !ok {
				return false
			}
			s.p.Cells.Narrow(l.Open, f.Variants[v].State)
		}
		l.Add(f, s.need(int32(part.Item)), part.Count)
	}
	if s.p.Pools[s.p.Models[model].Pool].Guarded {
		return s.p.Guard(&Box{Model: model, Parts: b.Parts})
	}
	return true
}

// patience is how many attempts for each box may fail in a row before the search
// gives up.
const patience = 3

// improve empties a few boxes at a time, those with the poorest share and some
// others, and packs their content anew, for as long as there is work to spend. A
// change is kept if everything fits again for less.
func (s *solver) improve(a *answer, work int) {
	if len(a.boxes) < 2 {
		return
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(a.boxes))))
	scratch := make([]int, len(s.p.Items))
	for round, fruitless := 0, 0; s.work < work && !a.done() && fruitless < patience*(4+len(a.boxes)); round++ {
		fruitless++
		victims := s.victims(a, rng, round)
		if s.repack(a, victims, scratch, tastes[rng.IntN(len(tastes))]) {
			fruitless = 0
		}
	}
}

// victims picks boxes to empty: one after the other of the most wasteful, and
// others by chance, more as time goes by.
func (s *solver) victims(a *answer, rng *rand.Rand, round int) []int {
	waste := make([]float64, len(a.boxes))
	order := make([]int, len(a.boxes))
	for i := range a.boxes {
		order[i] = i
		waste[i] = s.p.Models[a.boxes[i].Model].Price
		for _, part := range a.boxes[i].Parts {
			waste[i] -= s.worth[part.Item] * float64(part.Count)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		switch {
		case waste[x] > waste[y]:
			return -1
		case waste[x] < waste[y]:
			return 1
		}
		return 0
	})
	n := min(len(a.boxes), 2+rng.IntN(8))
	picked := map[int]bool{order[round%min(len(order), 1+len(order)/4)]: true}
	for len(picked) < n {
		// Squared, so that wasteful boxes come more often.
		x := rng.Float64()
		picked[order[int(x*x*float64(len(order)))]] = true
	}
	out := make([]int, 0, n)
	for i := range a.boxes {
		if picked[i] {
			out = append(out, i)
		}
	}
	return out
}

// repack packs the content of some boxes anew, and keeps it and says so if that
// is cheaper.
// scratch is all zero before and after.
func (s *solver) repack(a *answer, victims []int, scratch []int, t taste) bool {
	pools := clonePools(a.pools)
	var items []int32
	before := 0.0
	for _, v := range victims {
		model := &s.p.Models[a.boxes[v].Model]
		before += model.Price
		buy(pools, model, -1)
		for _, part := range a.boxes[v].Parts {
			if scratch[part.Item] == 0 {
				items = append(items, int32(part.Item))
			}
			scratch[part.Item] += part.Count
		}
	}
	slices.Sort(items)
	fresh := &answer{boxes: s.greedy(items, scratch, pools, t), pools: pools}
	fresh.downsize(s)
	complete := true
	for _, i := range items {
		complete = complete && scratch[i] == 0
		scratch[i] = 0
	}
	if !complete || fresh.price >= before-tiny {
		return false
	}
	a.price += fresh.price - before
	a.pools = pools
	keep := a.boxes[:0]
	for i := range a.boxes {
		if _, gone := slices.BinarySearch(victims, i); !gone {
			keep = append(keep, a.boxes[i])
		}
	}
	a.boxes = append(keep, fresh.boxes...)
	return true
}

// finish tries once more to pack what was left, now that there may be room in
// the limits.
func (a *answer) finish(s *solver) {
	a.boxes = append(a.boxes, s.greedy(s.all, a.left, a.pools, tastes[0])...)
}
