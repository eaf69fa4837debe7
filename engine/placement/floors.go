package placement

import "github.com/millwright-dev/millwright/engine/placement/affinity"

// floors counts the different values of the labels for which a pool demands
// several.
type floors struct {
	index *affinity.Index
	pool  *pool
	seen  []map[string]bool
}

func (m *market) newFloors(p *pool) *floors {
	f := &floors{index: m.index, pool: p, seen: make([]map[string]bool, len(p.floors))}
	for i := range f.seen {
		f.seen[i] = map[string]bool{}
	}
	return f
}

// add counts a launch and reports whether every floor is met.
func (f *floors) add(launch int) bool {
	for i, floor := range f.pool.floors {
		if r := f.index.Says(launch, floor.Key()); r.Finite() {
			for _, v := range r.Values() {
				f.seen[i][v] = true
			}
		}
	}
	return f.met()
}

// brings reports whether a launch has a value that a floor still lacks.
func (f *floors) brings(launch int) bool {
	for i, floor := range f.pool.floors {
		if len(f.seen[i]) >= floor.MinValues() {
			continue
		}
		if r := f.index.Says(launch, floor.Key()); r.Finite() {
			for _, v := range r.Values() {
				if !f.seen[i][v] {
					return true
				}
			}
		}
	}
	return false
}

func (f *floors) met() bool {
	for i, floor := range f.pool.floors {
		if len(f.seen[i]) < floor.MinValues() {
			return false
		}
	}
	return true
}
