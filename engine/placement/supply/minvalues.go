package supply

import "github.com/millwright-dev/millwright/engine/placement/affinity"

// MinValues counts the different values of the labels for which a pool demands
// several.
type MinValues struct {
	index *affinity.Index
	pool  *Pool
	seen  []map[string]bool
}

// NewMinValues counts some launches for a pool's minValues.
func (m *Offerings) NewMinValues(p *Pool, launches ...int) *MinValues {
	f := &MinValues{index: m.Index, pool: p, seen: make([]map[string]bool, len(p.MinValues))}
	for i := range f.seen {
		f.seen[i] = map[string]bool{}
	}
	for _, i := range launches {
		f.Add(i)
	}
	return f
}

// Add counts a launch, and reports whether it has a value that a floor lacked.
func (f *MinValues) Add(launch int) bool {
	brings := false
	for i, floor := range f.pool.MinValues {
		r := f.index.Says(launch, floor.Key())
		if !r.Finite() {
			continue
		}
		for _, v := range r.Values() {
			brings = brings || len(f.seen[i]) < floor.MinValues() && !f.seen[i][v]
			f.seen[i][v] = true
		}
	}
	return brings
}

// Met reports whether there are enough values for every one of the minValues.
func (f *MinValues) Met() bool {
	for i, floor := range f.pool.MinValues {
		if len(f.seen[i]) < floor.MinValues() {
			return false
		}
	}
	return true
}

// Exceed reports whether there are more values than others for one of the minValues, as far as
// it demands them.
func (f *MinValues) Exceed(others *MinValues) bool {
	for i, floor := range f.pool.MinValues {
		if min(len(f.seen[i]), floor.MinValues()) > len(others.seen[i]) {
			return true
		}
	}
	return false
}

// Counts are the numbers of different values so far, in the order of the pool's
// floors.
func (f *MinValues) Counts() []int {
	out := make([]int, len(f.seen))
	for i := range f.seen {
		out[i] = len(f.seen[i])
	}
	return out
}
