package pack

import (
	"cmp"
	"slices"
)

const (
	// muchAbove is the share of the bound above it from which more is tried.
	muchAbove = 0.015
	// looksPerThing bounds the work.
	looksPerThing = 20
)

// vacate moves what it can of a box, the most expensive first, into room in cheaper ones, if a
// cheaper model then holds the rest. Greedy leaves such room where some things take a box
// each, and those that could have filled the boxes are used up.
func (s *solver) vacate(boxes []Box, limits []int64) []Box {
	if !s.wasteful(boxes) {
		return boxes
	}
	loads, order := make([]Load, len(boxes)), make([]*Box, len(boxes))
	for i := range boxes {
		order[i] = &boxes[i]
	}
	slices.SortStableFunc(order, func(a, b *Box) int {
		return cmp.Compare(s.p.Models[b.Model].Price, s.p.Models[a.Model].Price)
	})
	looks := 0
	for i, b := range order {
		s.load(&loads[i], b)
		for _, part := range b.Parts {
			looks += looksPerThing * part.Count
		}
	}
	for at := 0; at < len(order) && looks > 0; at++ {
		looks -= s.vacateOne(order[at:], loads[at:], limits)
	}
	return slices.DeleteFunc(boxes, func(b Box) bool { return len(b.Parts) == 0 })
}

// wasteful reports whether boxes cost much more than the bound.
func (s *solver) wasteful(boxes []Box) bool {
	return s.p.price(boxes) > s.floor.of(contentOf(boxes, len(s.counts)))*(1+muchAbove)
}

// vacateOne moves what it can of the first box into the others, the cheapest first, and
// returns the number of looks that this took.
func (s *solver) vacateOne(boxes []*Box, loads []Load, limits []int64) (looks int) {
	parts := slices.Clone(boxes[0].Parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return s.byFallingSize(int32(a.Item), int32(b.Item)) })
	taken := map[int][]Part{}
	for i := range parts {
		part, item := &parts[i], int32(parts[i].Item)
		family, need := s.familyOf(item), s.need(item)
		for to := len(boxes) - 1; to > 0 && part.Count > 0; to-- {
			m, l := boxes[to].Model, &loads[to]
			looks++
			if !fits(need, l.Free) || !family.Models.Has(m) || l.Open != nil || s.p.Guard != nil {
				continue
			}
			if n := l.Room(family, need, part.Count); n > 0 {
				l.Add(family, need, n)
				taken[to], part.Count = append(taken[to], Part{part.Item, n}), part.Count-n
			}
		}
	}
	rest := Box{boxes[0].Model, slices.DeleteFunc(parts, func(p Part) bool { return p.Count == 0 })}
	if s.downsize(&rest, limits); rest.Model == boxes[0].Model && len(rest.Parts) > 0 {
		for to := range taken {
			s.load(&loads[to], boxes[to])
		}
		return looks
	}
	if len(rest.Parts) == 0 {
		buy(limits, &s.p.Models[rest.Model], -1)
	}
	*boxes[0] = rest
	for to, more := range taken {
		boxes[to].add(more)
	}
	return looks
}

// add puts more into a box.
func (b *Box) add(parts []Part) {
	for _, part := range parts {
		if i := slices.IndexFunc(b.Parts, func(p Part) bool { return p.Item == part.Item }); i >= 0 {
			b.Parts[i].Count += part.Count
		} else {
			b.Parts = append(b.Parts, part)
		}
	}
}
