package placement

import (
	"cmp"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// meetsMinValues reports whether a box leaves the different values of labels that its
// pool demands. Where minValues are only wished for, it may leave fewer if none of
// its pods leaves more by itself; then the box does not make it worse for pods
// that could do better.
func (t *packing) meetsMinValues(b *pack.Box) bool {
	if len(t.poolOf(b).MinValues) == 0 {
		return true
	}
	counts := t.values(b)
	return counts.Met() || t.w.opts.RelaxMinValues && !slices.ContainsFunc(b.Parts, func(part pack.Part) bool {
		return t.values(&pack.Box{Model: b.Model, Parts: []pack.Part{{Item: part.Item, Count: 1}}}).Exceed(counts)
	})
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

// relax lowers the minValues of a claim to what its alternatives have, and reports
// whether it had to.
func (t *packing) relax(set requirement.Set, p *supply.Pool, chosen []int) (requirement.Set, bool) {
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

// keepMinValues drops boxes until the limits leave all others the alternatives that
// minValues demand: of those that lack some, first those with the fewest pods, then the
// dearest. Their pods stay where they are. What a box could become only grows as others
// go, so one look at each does.
func (t *packing) keepMinValues(boxes []pack.Box) []pack.Box {
	if t.w.opts.RelaxMinValues {
		return boxes
	}
	order := make([]int, len(boxes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.podsOf(&boxes[a]), t.podsOf(&boxes[b])), cmp.Compare(b, a))
	})
	left := len(boxes)
	for _, i := range order {
		if !t.keepsMinValues(&boxes[i], left) {
			t.charge(boxes[i:i+1], -1)
			boxes[i].Parts = nil
			left--
		}
	}
	return slices.DeleteFunc(boxes, func(b pack.Box) bool { return b.Parts == nil })
}

func (t *packing) podsOf(b *pack.Box) int {
	pods := 0
	for _, part := range b.Parts {
		pods += part.Count * t.groups[part.Item].Bundle
	}
	return pods
}

// keepsMinValues reports whether a box, one of so many, has alternatives with the
// different values that its pool demands.
func (t *packing) keepsMinValues(b *pack.Box, boxes int) bool {
	p := t.poolOf(b)
	if len(p.MinValues) == 0 || len(p.Limits) == 0 {
		return true
	}
	return t.w.Offerings.NewMinValues(p, t.suiting(t.contentOf(b), t.launch[b.Model], boxes)...).Met()
}
