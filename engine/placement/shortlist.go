package placement

import (
	"cmp"
	"slices"
)

// shortlist are the launches that would hold a content, the one to count on in
// front, then the cheapest first. It names at most MaxTypes types, more where
// the pool's minValues need them, and each of them fits the pool's limits
// whichever of the boxes becomes what: what the limits leave beyond the boxes as
// planned is divided between them.
func (t *tier) shortlist(c *content, planned, boxes int) []int {
	suiting := t.suiting(c, planned, boxes)
	first := t.even(c, suiting)
	slices.SortFunc(suiting, func(a, b int) int {
		return cmp.Or(-compareBool(a == first, b == first), cmp.Compare(a, b))
	})
	return t.cut(c, suiting)
}

// suiting are all launches that would hold the content, the cheapest first.
func (t *tier) suiting(c *content, planned, boxes int) []int {
	m := t.w.market
	base := m.kinds[m.launches[planned].kind].size
	var out []int
	for i := range c.launches.Within(c.pool.lo, c.pool.hi) {
		if t.suits(c, i) && c.pool.spares(m.kinds[m.launches[i].kind].size, base, boxes) {
			out = append(out, i)
		}
	}
	return out
}

// spares reports whether so many machines may all be so much larger than planned.
func (p *pool) spares(size, planned []int64, boxes int) bool {
	for d := range size {
		if extra := size[d] - planned[d]; extra > 0 && extra > (p.limits[d].most-p.used[d])/int64(boxes) {
			return false
		}
	}
	return true
}

// even picks the launch to count on: of those at the lowest price the one in the
// zone where the pool has the fewest machines, then the first by name.
func (t *tier) even(c *content, suiting []int) int {
	m := t.w.market
	price := m.launches[suiting[0]].offering.Price
	best := suiting[0]
	for _, i := range suiting {
		if m.launches[i].offering.Price > price {
			break
		}
		if c.pool.zones[m.launches[i].offering.Zone] < c.pool.zones[m.launches[best].offering.Zone] {
			best = i
		}
	}
	return best
}

// cut keeps the cheapest types, and those that bring values that minValues need.
func (t *tier) cut(c *content, suiting []int) []int {
	m := t.w.market
	kept := map[int32]bool{}
	counts := t.w.market.newFloors(c.pool)
	for _, i := range suiting {
		if len(kept) < t.w.opts.MaxTypes {
			kept[m.launches[i].kind] = true
		}
		if kept[m.launches[i].kind] {
			counts.add(i)
		}
	}
	for _, i := range suiting {
		if counts.met() {
			break
		}
		if !kept[m.launches[i].kind] && counts.brings(i) {
			kept[m.launches[i].kind] = true
			counts.add(i)
		}
	}
	return slices.DeleteFunc(suiting, func(i int) bool { return !kept[m.launches[i].kind] })
}
