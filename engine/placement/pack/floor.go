package pack

import (
	"cmp"
	"math"
	"slices"
)

// floor bounds from below what any set of boxes for some of the items costs. It
// is the greatest of what the linear program says and of what follows from boxes
// not being divisible, for each part of the problem that shares no box with
// another; the sum of these is the bound.
type floor struct {
	s *relaxation
	// single is the price of the cheapest box that holds one of an item.
	single []float64
	// contents are what items are worth by whole contents, nil if that is not known.
	contents []float64
	// part is the part of the problem that a family belongs to.
	part []int
}

func newFloor(s *relaxation) *floor {
	f := &floor{s: s, single: make([]float64, len(s.p.Items)), part: s.parts()}
	byPrice := make([]int, len(s.p.Models))
	for m := range byPrice {
		byPrice[m] = m
	}
	slices.SortStableFunc(byPrice, func(a, b int) int { return cmp.Compare(s.p.Models[a].Price, s.p.Models[b].Price) })
	for i := range s.p.Items {
		models := s.p.Families[s.p.Items[i].Family].bounding()
		for _, m := range byPrice {
			if models.Has(m) && s.holds(m, int32(i)) {
				f.single[i] = s.p.Models[m].Price
				break
			}
		}
	}
	return f
}

// parts joins families that share a model, and numbers what comes out.
func (s *relaxation) parts() []int {
	part := make([]int, len(s.p.Families))
	for i := range part {
		part[i] = i
	}
	find := func(i int) int {
		for part[i] != i {
			part[i] = part[part[i]]
			i = part[i]
		}
		return i
	}
	first := make([]int, len(s.p.Models))
	for f := range s.p.Families {
		for m := range s.p.Families[f].bounding().All() {
			if first[m] == 0 {
				first[m] = f + 1
			}
			part[find(f)] = find(first[m] - 1)
		}
	}
	for i := range part {
		part[i] = find(i)
	}
	return part
}

// of is the bound for so many of each item.
func (f *floor) of(counts []int) float64 {
	type member struct {
		part int
		group
	}
	divided, whole, filled := make([]float64, len(f.part)), make([]float64, len(f.part)), make([]float64, len(f.part))
	exclusive := map[member]float64{}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		family := &f.s.p.Families[f.s.p.Items[i].Family]
		part := f.part[f.s.p.Items[i].Family]
		divided[part] += f.s.worth[i] * float64(n)
		whole[part] = max(whole[part], f.single[i])
		if f.contents != nil {
			filled[part] += f.contents[i] * float64(n)
		}
		// Every box with members of a group costs at least what the cheapest box for
		// any of them does, and has at most the cap's number of them.
		for g, share := range family.groups() {
			exclusive[member{part, g}] += f.single[i] * float64(n) * share.ofBox()
		}
	}
	for g, least := range exclusive {
		whole[g.part] = max(whole[g.part], least)
	}
	sum := 0.0
	for p := range divided {
		sum += max(divided[p], whole[p], filled[p])
	}
	return sum * (1 - tiny)
}

// boxes is how many boxes there are at least for so many of each item.
func (f *floor) boxes(counts []int) int {
	exclusive, most := map[group]float64{}, 1.0
	for i, n := range counts {
		for g, share := range f.s.p.Families[f.s.p.Items[i].Family].groups() {
			exclusive[g] += float64(n) * share.ofBox()
			most = max(most, exclusive[g])
		}
	}
	return int(math.Ceil(most - tiny))
}
