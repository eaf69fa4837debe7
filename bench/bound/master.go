package bound

// master is the program over the values of the shapes: as much as possible in
// sum, with no listed fill worth more than its machine.
type master struct {
	gain  []float64   // by shape: its pods
	fills [][]float64 // by fill, by shape
	costs []float64   // by fill
	idle  []int       // by fill: rounds in a row without influence
}

// newMaster starts with a fill for every shape, as many as are alone on the machine where
// that is cheapest, which bounds all values.
func newMaster(shapes []demand, machines []*machine, alone func(demand, *machine) float64) *master {
	m := &master{}
	for k, s := range shapes {
		m.gain = append(m.gain, s.count)
		var most, cost float64
		for _, machine := range machines {
			if !machine.takes(s) {
				continue
			}
			n := alone(s, machine)
			if most == 0 || machine.cost/n < cost/most {
				most, cost = n, machine.cost
			}
		}
		f := make([]float64, len(shapes))
		f[k] = most
		m.add(f, cost)
	}
	return m
}

func (m *master) add(fill []float64, cost float64) {
	m.fills, m.costs, m.idle = append(m.fills, fill), append(m.costs, cost), append(m.idle, 0)
}

// solve finds the values, and forgets fills that have not mattered for a while,
// the first ones excepted. A fill that is missed is found again.
func (m *master) solve() (values []float64, total float64) {
	const idleRounds = 8
	values, influence, total := maximize(m.gain, m.fills, m.costs)
	kept := 0
	for i := range m.fills {
		m.idle[i]++
		if influence[i] > 0 {
			m.idle[i] = 0
		}
		if i < len(m.gain) || m.idle[i] < idleRounds {
			m.fills[kept], m.costs[kept], m.idle[kept] = m.fills[i], m.costs[i], m.idle[i]
			kept++
		}
	}
	m.fills, m.costs, m.idle = m.fills[:kept], m.costs[:kept], m.idle[:kept]
	return values, total
}

// alone is how many pods of a shape fill a machine, in fractions.
func alone(s demand, m *machine) float64 {
	n := -1.0
	for i, r := range s.request {
		if r > 0 && (n < 0 || m.room[i]/r < n) {
			n = m.room[i] / r
		}
	}
	return n
}
