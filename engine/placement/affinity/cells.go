package affinity

import (
	"maps"
	"slices"
	"strconv"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Cells tells which requirements on open labels can hold together on one
// machine. Each open key's values are divided into cells that no requirement
// tells apart; a state is a set of cells for each key, and adding a requirement
// to a machine intersects its state. The machine stays possible as long as every
// key has a cell left.
type Cells struct {
	keys []cellKey
	size int // words of a state
}

type cellKey struct {
	key     string
	samples []string // one value for each cell; the last cell is a missing label
	lo, hi  int      // words of a state
}

// other stands for all the values that no requirement mentions.
const other = "\x00other"

// NewCells divides the values of open keys. wants are the requirements that will be
// added, open what places that leave a key open start from. Keys that fewer than two
// different requirements mention need no cells: whatever is left open can
// satisfy the one that there is. Nil is that no key needs any.
func NewCells(wants []requirement.Requirement, open func(key string) []requirement.Requirement) *Cells {
	mentioned := map[string][]requirement.Requirement{}
	for _, r := range wants {
		same := func(o requirement.Requirement) bool { return o.Exact() == r.Exact() }
		if !slices.ContainsFunc(mentioned[r.Key()], same) {
			mentioned[r.Key()] = append(mentioned[r.Key()], r)
		}
	}
	c := &Cells{}
	for _, key := range slices.Sorted(maps.Keys(mentioned)) {
		if len(mentioned[key]) < 2 {
			continue
		}
		if start := open(key); len(start) > 0 {
			k := cellKey{key: key, samples: samples(slices.Concat(mentioned[key], start)), lo: c.size}
			c.size += (len(k.samples) + 1 + 63) / 64
			k.hi = c.size
			c.keys = append(c.keys, k)
		}
	}
	if len(c.keys) == 0 {
		return nil
	}
	return c
}

// samples has a value from each side of everything that the requirements tell
// apart: their values, the integers at their bounds, and one that none of them has.
func samples(rs []requirement.Requirement) []string {
	out := []string{other}
	for _, r := range rs {
		if lo, hi, bounded := r.Bounds(); bounded {
			for _, edge := range []int64{lo, hi} {
				for n := max(edge, 1) - 1; n <= edge && n < 1<<62; n++ {
					out = append(out, strconv.FormatInt(n, 10), strconv.FormatInt(n+1, 10))
				}
			}
		}
		out = append(out, r.Values()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// State is the set of cells that satisfy the requirements; keys that they do not
// mention keep all cells.
func (c *Cells) State(of func(key string) (requirement.Requirement, bool)) bitset.Set {
	out := make(bitset.Set, c.size)
	for _, k := range c.keys {
		r, ok := of(k.key)
		for i, v := range k.samples {
			if !ok || r.Has(v) {
				out.Add(k.lo*64 + i)
			}
		}
		if !ok || r.Absent() {
			out.Add(k.lo*64 + len(k.samples))
		}
	}
	return out
}

// Possible reports whether every key has a cell in both of two states.
func (c *Cells) Possible(state, with bitset.Set) bool {
	for _, k := range c.keys {
		left := uint64(0)
		for w := k.lo; w < k.hi; w++ {
			left |= state[w] & with[w]
		}
		if left == 0 {
			return false
		}
	}
	return true
}
