package placement

import (
	"cmp"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// modest reports whether a box leaves the different values of labels that its
// pool demands. Where minValues are only wished for, it may leave fewer if one of
// its pods by itself leaves no more; then the box does not make it worse for pods
// that could do better.
func (t *tier) modest(b *pack.Box) bool {
	counts := t.values(b)
	return counts.Met() || t.w.opts.RelaxMinValues && counts.AtLeast(t.reachable(b))
}

// values counts the different values that a box leaves, until they are enough. What is
// too large for what is left of the limits is no choice.
func (t *tier) values(b *pack.Box) *supply.Floors {
	c := t.contentOf(b)
	counts := t.w.Market.NewFloors(c.pool)
	for i := range c.launches.Within(c.pool.Lo, c.pool.Hi) {
		if t.suits(c, i) && c.pool.Affords(t.w.Market.Kinds[t.w.Market.Launches[i].Kind].Size) && counts.Add(i) {
			break
		}
	}
	return counts
}

// reachable are the numbers of values that the most flexible of a box's pods leaves
// by itself.
func (t *tier) reachable(b *pack.Box) []int {
	var most []int
	for _, part := range b.Parts {
		alone := [2]int{part.Item, b.Model}
		counts, ok := t.alone[alone]
		if !ok {
			counts = t.values(&pack.Box{Model: b.Model, Parts: []pack.Part{{Item: part.Item, Count: 1}}}).Counts()
			t.alone[alone] = counts
		}
		if most == nil {
			most = make([]int, len(counts))
		}
		for i, n := range counts {
			most[i] = max(most[i], n)
		}
	}
	return most
}

// relax lowers the minValues of a claim to what its alternatives have, and reports
// whether it had to.
func (t *tier) relax(set requirement.Set, p *supply.Pool, chosen []int) (requirement.Set, bool) {
	if !t.w.opts.RelaxMinValues || len(p.Floors) == 0 {
		return set, false
	}
	counts := t.w.Market.NewFloors(p)
	for _, i := range chosen {
		counts.Add(i)
	}
	relaxed := false
	for i, n := range counts.Counts() {
		if floor := p.Floors[i]; n < floor.MinValues() {
			set = set.Without(floor.Key()).With(set.Get(floor.Key()).WithMinValues(n))
			relaxed = true
		}
	}
	return set, relaxed
}

// keepFloors drops boxes until the limits leave all others the alternatives that
// minValues demand: of those that lack some, first those with the fewest pods, then the
// dearest. Their pods stay where they are. What a box could become only grows as others
// go, so one look at each does.
func (t *tier) keepFloors(boxes []pack.Box) []pack.Box {
	if t.w.opts.RelaxMinValues || !slices.ContainsFunc(t.pools, func(p *supply.Pool) bool { return len(p.Floors) > 0 && len(p.Limits) > 0 }) {
		return boxes
	}
	order := make([]int, len(boxes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &boxes[a], &boxes[b]
		return cmp.Or(cmp.Compare(t.podsOf(x), t.podsOf(y)), t.compareBoxes(y, x))
	})
	gone := make([]bool, len(boxes))
	left := len(boxes)
	for _, i := range order {
		if !t.keepsFloors(&boxes[i], left) {
			t.charge(boxes[i:i+1], -1)
			gone[i] = true
			left--
		}
	}
	kept := boxes[:0]
	for i := range boxes {
		if !gone[i] {
			kept = append(kept, boxes[i])
		}
	}
	return kept
}

func (t *tier) podsOf(b *pack.Box) int {
	pods := 0
	for _, part := range b.Parts {
		pods += part.Count * t.groups[part.Item].Bundle
	}
	return pods
}

// keepsFloors reports whether a box, one of so many, has alternatives with the
// different values that its pool demands.
func (t *tier) keepsFloors(b *pack.Box, boxes int) bool {
	p := t.poolOf(b)
	if len(p.Floors) == 0 || len(p.Limits) == 0 {
		return true
	}
	counts := t.w.Market.NewFloors(p)
	for _, l := range t.suiting(t.contentOf(b), t.launch[b.Model], boxes) {
		if counts.Add(l) {
			return true
		}
	}
	return counts.Met()
}
