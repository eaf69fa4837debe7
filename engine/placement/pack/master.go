package pack

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/pack/simplex"
)

// master is a restricted master program: it covers all rows at the least price by the
// columns that are known so far.
type master struct {
	*simplex.Program
	// costs and columns are what it may choose from, candidates those that are worth a look
	// after a pivot.
	costs             []float64
	columns           [][]simplex.Entry
	every, candidates []int32
}

// learn adds a column.
func (m *master) learn(costs float64, column []simplex.Entry) {
	m.every = append(m.every, int32(len(m.columns)))
	m.costs, m.columns = append(m.costs, costs), append(m.columns, column)
}

// pivot solves the program, to which the columns from fresh on are new.
func (m *master) pivot(fresh int) {
	among := m.every[fresh:]
	for range masterPivots {
		// More than the demand may be covered as well.
		if spare := slices.IndexFunc(m.Dual, func(v float64) bool { return v < -tiny }); spare >= 0 {
			m.Enter(-1-2*m.Rows-spare, []simplex.Entry{{Row: spare, Value: -1}}, 0)
			continue
		}
		at := m.cheapest(among)
		if at < 0 {
			if at = m.cheapest(m.every); at < 0 {
				return
			}
		}
		among = m.candidates
		m.Enter(at, m.columns[at], m.costs[at])
	}
}

// cheapest is the column among some with the least reduced cost for its price, -1 if none
// is negative. Those that are negative become the candidates (partial pricing).
func (m *master) cheapest(among []int32) int {
	least, at, kept := 0.0, -1, m.candidates[:0]
	for _, c := range among {
		r := m.Reduced(m.columns[c], m.costs[c]) / max(m.costs[c], tiny)
		if r >= -worthwhile/10 {
			continue
		}
		kept = append(kept, c)
		if r < least {
			least, at = r, int(c)
		}
	}
	m.candidates = kept
	return at
}
