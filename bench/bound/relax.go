package bound

import (
	"cmp"
	"slices"
)

// relax finds good prices of each resource on each machine, scaled so that a
// machine's whole room is worth exactly its cost.
//
// It is the dual of buying machines with fractional fills: give each shape of
// pod a value, as much as possible in sum, such that no machine can be filled
// with more value than it costs. The fills are too many to list, so it starts
// with a few, and adds fills that the values of the last round break, which a
// small linear program per machine finds; that program's own dual is the
// machine's prices. Values are looked for half-way between the last round's,
// which promise too much, and the best proven ones, which settles sooner.
func relax(shapes []demand, machines []*machine) [][]float64 {
	const (
		rounds = 300
		added  = 12   // fills per round
		near   = 1e-4 // of the value: good enough
	)
	var best proof
	m := newMaster(shapes, machines, alone)
	for range rounds {
		promised, total := m.solve()
		found, p := price(shapes, machines, halfway(best.values, promised))
		best = best.orBetter(p)
		broken := breaks(found, promised, machines)
		if len(broken) == 0 {
			found, p = price(shapes, machines, promised)
			best = best.orBetter(p)
			broken = breaks(found, promised, machines)
		}
		if len(broken) == 0 || total-best.total <= near*total {
			break
		}
		for _, f := range broken[:min(added, len(broken))] {
			m.add(f.amounts, machines[f.machine].cost)
		}
	}
	return best.worths
}

// proof is a set of prices with what they prove about the shapes.
type proof struct {
	worths [][]float64 // by machine, by resource
	values []float64   // by shape: the least worth over its machines
	total  float64
}

func (p proof) orBetter(o proof) proof {
	if p.worths == nil || o.total > p.total {
		return o
	}
	return p
}

func prove(shapes []demand, machines []*machine, worths [][]float64) proof {
	p := proof{worths: worths, values: make([]float64, len(shapes))}
	for k, s := range shapes {
		p.values[k] = least(s, machines, worths)
		p.total += p.values[k] * s.count
	}
	return p
}

func halfway(proven, promised []float64) []float64 {
	if proven == nil {
		return promised
	}
	out := make([]float64, len(promised))
	for k := range out {
		out[k] = (proven[k] + promised[k]) / 2
	}
	return out
}

// fill is the most valuable way to fill a machine.
type fill struct {
	machine int
	amounts []float64 // by shape
	excess  float64   // value over cost, under the values that it breaks
}

// price fills every machine under the given values.
func price(shapes []demand, machines []*machine, values []float64) ([]fill, proof) {
	found, worths := make([]fill, len(machines)), make([][]float64, len(machines))
	for t, m := range machines {
		amounts, worth := divide(shapes, m, values)
		found[t], worths[t] = fill{machine: t, amounts: amounts}, scaled(worth, m)
	}
	return found, prove(shapes, machines, worths)
}

// divide fills a machine with divisible pods under the given values, and finds the prices of
// its resources.
func divide(shapes []demand, m *machine, values []float64) (amounts, prices []float64) {
	rows, gain := make([][]float64, len(m.room)), make([]float64, len(shapes))
	for r := range rows {
		rows[r] = make([]float64, len(shapes))
		for k, s := range shapes {
			rows[r][k] = s.request[r]
		}
	}
	for k, s := range shapes {
		if m.takes(s) {
			gain[k] = values[k]
		}
	}
	amounts, prices, _ = maximize(gain, rows, m.room)
	return amounts, prices
}

// breaks are the fills that are worth more than their machine under the given
// values, the worst first.
func breaks(found []fill, values []float64, machines []*machine) []fill {
	var out []fill
	for _, f := range found {
		f.excess = dot(f.amounts, values) / machines[f.machine].cost
		if f.excess > 1+tolerance {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b fill) int { return cmp.Compare(b.excess, a.excess) })
	return out
}

// scaled makes a machine's whole room worth its cost. Where no shape with a
// value can go, its first resource carries all.
func scaled(worth []float64, m *machine) []float64 {
	total := dot(worth, m.room)
	if total <= 0 {
		worth, total = make([]float64, len(m.room)), m.room[0]
		worth[0] = 1
	}
	for r := range worth {
		worth[r] *= m.cost / total
	}
	return worth
}
