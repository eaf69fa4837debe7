package placement

import (
	"slices"
	"sort"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// shortlist are the launches that would hold a content, the one to count on in
// front: of those at the lowest price the one in the zone where the pool has the fewest
// machines, then the first by name. Then come the cheapest first. It names at most
// maxTypes types, more where the pool's minValues need them, and each of them fits the
// pool's limits whichever of the boxes becomes what: what the limits leave beyond the
// boxes as planned is divided between them.
func (t *packing) shortlist(c *content, planned, boxes int) []int {
	suiting := t.suiting(c, planned, boxes)
	offering := func(i int) *catalog.Offering { return t.w.Offerings.Launches[i].Offering }
	at := 0
	for k := 1; k < len(suiting) && offering(suiting[k]).Price <= offering(suiting[0]).Price; k++ {
		if c.pool.Zones[offering(suiting[k]).Zone] < c.pool.Zones[offering(suiting[at]).Zone] {
			at = k
		}
	}
	first := suiting[at]
	copy(suiting[1:], suiting[:at])
	suiting[0] = first
	if len(c.pool.MinValues) > 0 {
		return t.cut(c, suiting)
	}
	return suiting
}

// suiting are the launches that would hold the content, the cheapest first: all of
// them where the pool has minValues, else those of as many types as may be named.
func (t *packing) suiting(c *content, planned, boxes int) (out []int) {
	m := t.w.Offerings
	base := m.Kinds[m.Launches[planned].Kind].Size
	named, kinds := bitset.New(len(m.Kinds)), 0
	from := c.pool.Lo
	if len(c.pool.MinValues) == 0 {
		// Packing has chosen the cheapest.
		from += sort.Search(planned-from, func(i int) bool { return m.Launches[from+i].Offering.Price >= m.Launches[planned].Offering.Price })
	}
	for i := range c.launches.Within(from, c.pool.Hi) {
		kind := int(m.Launches[i].Kind)
		known := named.Has(kind)
		if !known && kinds == maxTypes && len(c.pool.MinValues) == 0 {
			continue
		}
		if t.suits(c, i) && c.pool.Spares(m.Kinds[kind].Size, base, boxes) {
			out = append(out, i)
			if !known {
				named.Add(kind)
				kinds++
			}
		}
	}
	return out
}

// cut keeps the cheapest types, and those that bring values that minValues need.
func (t *packing) cut(c *content, suiting []int) []int {
	m := t.w.Offerings
	kept := map[int32]bool{}
	counts := t.w.Offerings.NewMinValues(c.pool)
	for _, i := range suiting {
		if len(kept) < maxTypes {
			kept[m.Launches[i].Kind] = true
		}
		if kept[m.Launches[i].Kind] {
			counts.Add(i)
		}
	}
	for _, i := range suiting {
		if !kept[m.Launches[i].Kind] && counts.Add(i) {
			kept[m.Launches[i].Kind] = true
		}
	}
	return slices.DeleteFunc(suiting, func(i int) bool { return !kept[m.Launches[i].Kind] })
}
