package bound

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// machine is a kind of machine: offers of one price, one room and open to the
// same pods.
type machine struct {
	cost float64
	room []float64
	open []bool // by kind of pod
}

// takes reports whether a pod may run on the machine and fits it alone.
func (m *machine) takes(d demand) bool { return m.open[d.kind] && atMost(d.request, m.room) }

// fits is the number of the pods that fit into some room, rounded in favour of one more.
func (d demand) fits(room []float64) int {
	n := d.count
	for i, r := range d.request {
		if r > 0 {
			n = min(n, math.Floor(room[i]/r+tolerance))
		}
	}
	return int(n)
}

// machines merges the offers that are alike to the pods seen so far. Those
// without room for any pod are left out.
func (c *Calculator) machines(s space) []*machine {
	var out []*machine
	seen := map[string]bool{}
	for i, o := range c.offers {
		m := &machine{cost: o.Price, room: s.vector(o.Free), open: make([]bool, len(c.kinds.runs))}
		for d, name := range s.names {
			if strings.HasPrefix(string(name), apart) {
				m.room[d] = 1
			}
		}
		for k, runs := range c.kinds.runs {
			m.open[k] = runs[i]
		}
		key := fmt.Sprint(m.cost, m.room, m.open)
		if seen[key] || slices.ContainsFunc(m.room, func(v float64) bool { return v < 0 }) {
			continue
		}
		seen[key] = true
		out = append(out, m)
	}
	return out
}

// possible drops the demands that no machine takes and counts their pods.
func possible(demands []demand, machines []*machine) (left []demand, impossible int) {
	for _, d := range demands {
		if slices.ContainsFunc(machines, func(m *machine) bool { return m.takes(d) }) {
			left = append(left, d)
		} else {
			impossible += int(d.count)
		}
	}
	return left, impossible
}

// undominated drops each machine that another replaces at no loss in the
// relaxation: the other takes every pod that it takes, has as much room, and
// as much for each dollar.
func undominated(machines []*machine) []*machine {
	slices.SortStableFunc(machines, func(a, b *machine) int {
		return cmp.Or(cmp.Compare(sum(b.room), sum(a.room)), cmp.Compare(a.cost, b.cost))
	})
	var out []*machine
	for _, m := range machines {
		if !slices.ContainsFunc(out, func(o *machine) bool { return o.replaces(m) }) {
			out = append(out, m)
		}
	}
	return out
}

func (m *machine) replaces(o *machine) bool {
	for k := range o.open {
		if o.open[k] && !m.open[k] {
			return false
		}
	}
	for i := range o.room {
		if m.room[i] < o.room[i] || m.room[i]*o.cost < o.room[i]*m.cost {
			return false
		}
	}
	return true
}

func sum(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s
}

func atMost(a, b []float64) bool {
	for i := range a {
		if a[i] > b[i] {
			return false
		}
	}
	return true
}
