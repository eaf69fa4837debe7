package placement

import (
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

// values counts the different values that a box leaves, until they are enough.
func (t *tier) values(b *pack.Box) *supply.Floors {
	c := t.contentOf(b)
	counts := t.w.Market.NewFloors(c.pool)
	for i := range c.launches.Within(c.pool.Lo, c.pool.Hi) {
		if t.suits(c, i) && counts.Add(i) {
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
