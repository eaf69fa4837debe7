package placement

import (
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// meetsMinValues reports whether a box leaves the different values of labels that its
// pool demands. Where minValues are only wished for, it may leave fewer if one of
// its pods by itself leaves no more; then the box does not make it worse for pods
// that could do better.
func (t *packing) meetsMinValues(b *pack.Box) bool {
	if len(t.poolOf(b).MinValues) == 0 {
		return true
	}
	counts := t.values(b)
	return counts.Met() || t.w.opts.RelaxMinValues && counts.AtLeast(t.reachable(b))
}

// values counts the different values that a box leaves, until they are enough. What is
// too large for what is left of the limits is no choice.
func (t *packing) values(b *pack.Box) *supply.MinValues {
	c := t.contentOf(b)
	counts := t.w.Offerings.NewMinValues(c.pool)
	for i := range c.launches.Within(c.pool.Lo, c.pool.Hi) {
		if t.suits(c, i) && c.pool.Affords(t.w.Offerings.Kinds[t.w.Offerings.Launches[i].Kind].Size) {
			counts.Add(i)
		}
		if counts.Met() {
			break
		}
	}
	return counts
}

// reachable are the numbers of values that the most flexible of a box's pods leaves
// by itself.
func (t *packing) reachable(b *pack.Box) []int {
	var most []int
	for _, part := range b.Parts {
		counts := t.values(&pack.Box{Model: b.Model, Parts: []pack.Part{{Item: part.Item, Count: 1}}}).Counts()
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
func (t *claims) relax(set requirement.Set, p *supply.Pool, chosen []int) (requirement.Set, bool) {
	if !t.w.opts.RelaxMinValues || len(p.MinValues) == 0 {
		return set, false
	}
	relaxed := false
	for i, n := range t.w.Offerings.NewMinValues(p, chosen...).Counts() {
		if floor := p.MinValues[i]; n < floor.MinValues() {
			set = set.Without(floor.Key()).With(set.Get(floor.Key()).WithMinValues(n))
			relaxed = true
		}
	}
	return set, relaxed
}
