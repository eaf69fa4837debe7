package pack

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// Load is a box, or a machine that exists, while it is being filled. It is not
// safe for concurrent use.
type Load struct {
	// Free is what is left, by dimension; never negative.
	Free []int64
	// Present are the tokens in the box.
	Present []Token
	// counts are the members of groups in the box.
	counts []groupCount
	// Open is the state of the open labels, nil if none is.
	Open bitset.Set
}

// groupCount is the number of a group's members, and whether one of them declares the limit.
type groupCount struct {
	group, count int32
	declared     bool
}

// Reset makes the load an empty box of a model.
func (l *Load) Reset(m *Model) {
	l.Free = append(l.Free[:0], m.Holds...)
	l.Present = append(l.Present[:0], m.Present...)
	l.counts = l.counts[:0]
	l.Open = append(l.Open[:0], m.Open...)
	if m.Open == nil {
		l.Open = nil
	}
}

// become makes the load a copy of another.
func (l *Load) become(o *Load) {
	l.Free = append(l.Free[:0], o.Free...)
	l.Present = append(l.Present[:0], o.Present...)
	l.counts = append(l.counts[:0], o.counts...)
	l.Open = nil
}

// Plain reports whether a family has no rules beyond its models.
func (f *Family) Plain() bool {
	return len(f.Conflicts) == 0 && len(f.Present) == 0 && len(f.Caps) == 0 && f.Variants == nil
}

// Room is how many more of an item the box takes, up to a maximum.
func (l *Load) Room(f *Family, need []int64, most int) int {
	for d, n := range need {
		if n > 0 {
			most = min(most, int(l.Free[d]/n))
		}
	}
	if most <= 0 {
		return 0
	}
	return min(most, l.admits(f, 0))
}

const unlimited = 1 << 30

// admits is how many more of a family may be in the box, apart from space and open
// labels, where so many of the tokens that are present are known not to be in conflict.
func (l *Load) admits(f *Family, known int) int {
	if clash(l.Present[known:], f.Conflicts) {
		return 0
	}
	most := unlimited
	if clash(f.Present, f.Conflicts) {
		most = 1
	}
	for _, c := range f.Caps {
		if g := l.group(c.Group); c.Declares || g.declared {
			most = min(most, int((c.Max-g.count)/c.Each))
		}
	}
	return max(most, 0)
}

// variant is the state of the first way to satisfy the family on a model with what is
// already decided about open labels, nil if none is open; ok is false if there is no way.
func (l *Load) variant(f *Family, model int, cells *affinity.Cells) (state bitset.Set, ok bool) {
	if f.Variants == nil || l.Open == nil {
		return nil, true
	}
	for _, v := range f.Variants {
		if v.Models.Has(model) && cells.Possible(l.Open, v.State) {
			return v.State, true
		}
	}
	return nil, false
}

// Add puts n items into the box. They have to fit.
func (l *Load) Add(f *Family, need []int64, n int) {
	for d, a := range need {
		l.Free[d] -= a * int64(n)
	}
	for _, t := range f.Present {
		if !slices.Contains(l.Present, t) {
			l.Present = append(l.Present, t)
		}
	}
	for _, c := range f.Caps {
		g := l.group(c.Group)
		g.count += int32(n) * c.Each
		g.declared = g.declared || c.Declares
	}
}

// Count adds to the number of a group's members.
func (l *Load) Count(group, n int32) { l.group(group).count += n }

// group finds a group's entry, or makes one. It is valid until the next call.
func (l *Load) group(number int32) *groupCount {
	for i := range l.counts {
		if l.counts[i].group == number {
			return &l.counts[i]
		}
	}
	l.counts = append(l.counts, groupCount{group: number})
	return &l.counts[len(l.counts)-1]
}

// Clashes reports whether a box with one of the family takes none of another.
func (f *Family) Clashes(o *Family) bool { return clash(f.Present, o.Conflicts) }

func clash(present, conflicts []Token) bool {
	return len(conflicts) > 0 && slices.ContainsFunc(present, func(t Token) bool {
		_, found := slices.BinarySearch(conflicts, t)
		return found
	})
}
