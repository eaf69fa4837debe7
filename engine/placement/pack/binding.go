package pack

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// group is what a box holds only so many of: holders of a token that cannot be with each
// other, or members of a group that declare its cap. It is a kind and a number.
type group [2]int32

const ofToken, ofCap int32 = 0, 1

// share is what a thing takes of the number that a box holds of a group.
type share struct{ each, max int64 }

func (s share) ofBox() float64 { return float64(s.each) / float64(max(s.max, 1)) }

// groups are those that bound how many of a family a box holds.
func (f *Family) groups() iter.Seq2[group, share] {
	return func(yield func(group, share) bool) {
		for _, c := range f.Caps {
			if c.Declares && !yield(group{ofCap, c.Group}, share{int64(c.Each), int64(c.Max)}) {
				return
			}
		}
		for _, t := range f.Present {
			if _, alone := slices.BinarySearch(f.Conflicts, t); alone && !yield(group{ofToken, t}, share{1, 1}) {
				return
			}
		}
	}
}

// mostBinding is how many groups become dimensions, those that take the most boxes: each
// makes every sum longer.
const mostBinding = 3

// binding is the problem with a dimension more for each of those groups: a box holds the
// group's maximum, a member needs its share. So the linear program knows how many boxes
// they take at least, and what a place for one of them is worth.
func binding(p *Problem) *Problem {
	groups := mostBoxesOf(p)
	if len(groups) == 0 {
		return p
	}
	out := *p
	out.Dims += len(groups)
	out.Items, out.Models = slices.Clone(p.Items), slices.Clone(p.Models)
	needs := make([][]int64, len(p.Families))
	room := make([]int64, len(groups))
	for f := range needs {
		needs[f] = make([]int64, len(groups))
		for g, s := range p.Families[f].groups() {
			if d := slices.Index(groups, g); d >= 0 {
				needs[f][d], room[d] = s.each, s.max
			}
		}
	}
	for i := range out.Items {
		out.Items[i].Need = slices.Concat(p.Items[i].Need, needs[p.Items[i].Family])
	}
	for m := range out.Models {
		out.Models[m].Holds = slices.Concat(p.Models[m].Holds, room)
	}
	return &out
}

// mostBoxesOf are the groups that take the most boxes.
func mostBoxesOf(p *Problem) []group {
	boxes := boxesOf(p)
	return slices.SortedFunc(maps.Keys(boxes), func(a, b group) int {
		return cmp.Or(cmp.Compare(boxes[b], boxes[a]), slices.Compare(a[:], b[:]))
	})[:min(len(boxes), mostBinding)]
}

// boxesOf is how many boxes each group takes at least.
func boxesOf(p *Problem) map[group]float64 {
	out := map[group]float64{}
	for i := range p.Items {
		for g, s := range p.Families[p.Items[i].Family].groups() {
			out[g] += float64(p.Items[i].Count) * s.ofBox()
		}
	}
	return out
}
