package simplex

import "slices"

// Master is a restricted master program: it covers all rows at the least cost by the
// columns that are known so far. It is not safe for concurrent use.
type Master struct {
	*Program
	// costs and columns are what it may choose from, candidates those that are worth a look
	// after a pivot.
	costs             []float64
	columns           [][]Entry
	every, candidates []int32
}

const (
	// mostPivots bounds one call of Pivot.
	mostPivots = 400
	// worthwhile is the share of its cost that a column must save.
	worthwhile = 1e-5
)

// NewMaster starts with a column for each row, which has so much of it at a cost.
func NewMaster(demand, diagonal, costs []float64) *Master {
	return &Master{Program: New(demand, diagonal, costs)}
}

// Learn adds a column.
func (m *Master) Learn(cost float64, column []Entry) {
	m.every = append(m.every, int32(len(m.columns)))
	m.costs, m.columns = append(m.costs, cost), append(m.columns, column)
}

// Known is the number of columns that were added.
func (m *Master) Known() int { return len(m.columns) }

// Pivot solves the program, to which the columns from fresh on are new.
func (m *Master) Pivot(fresh int) {
	among := m.every[fresh:]
	for range mostPivots {
		// More than the demand may be covered as well.
		if spare := slices.IndexFunc(m.Dual, func(v float64) bool { return v < -tiny }); spare >= 0 {
			m.Enter(-1-2*m.Rows-spare, []Entry{{Row: spare, Value: -1}}, 0)
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
func (m *Master) cheapest(among []int32) int {
	least, at, kept := 0.0, -1, m.candidates[:0]
	for _, c := range among {
		r := m.Reduced(m.columns[c], m.costs[c]) / max(m.costs[c], tiny)
		if r >= -worthwhile {
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
