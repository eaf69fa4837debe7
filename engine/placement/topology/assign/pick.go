package assign

import (
	"cmp"
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// count is how many units are in a cell.
func (v *assignment) count(i int) int { return len(v.in[i]) / v.g.Bundle }

// launches reports whether one more pod in a cell takes a new machine.
func (v *assignment) launches(i int) bool { return v.count(i) >= v.cells[i].free }

// open reports whether a cell takes one more pod.
func (v *assignment) open(i int) bool {
	if v.count(i) >= v.most[i] {
		return false
	}
	return !slices.ContainsFunc(v.parts, func(p part) bool { return !p.open(p.at[i]) })
}

// open reports whether the rule takes one more unit in a domain, -1 for none.
func (p *part) open(domain int) bool {
	if domain < 0 {
		return !p.bound
	}
	return p.l.Open(domain, p.Part)
}

// pick chooses the cell for one more pod, with so many left: of those that all
// required rules leave open the one with the fewest objections of preferred ones,
// as long as it costs little more than the cheapest; then one with room on machines
// that exist, and the one with the fewest pods of the spreads that count the pod,
// of equal ones the cheapest. Where the first pod decides for all, they should all have room.
func (v *assignment) pick(left int) int {
	best := -1
	var lowest rank
	limit := v.limit()
	for i := range v.cells {
		// There is no price while there is room on a machine that exists.
		if !v.open(i) || v.launches(i) && v.cells[i].cost > limit {
			continue
		}
		r := v.rank(i, left)
		if best < 0 || r.compare(lowest) < 0 {
			best, lowest = i, r
		}
	}
	v.starts = false
	return best
}

// rank orders cells, the lowest is the best: by how many pods would find no room, what
// preferred rules have against the cell, whether a machine has to be launched for the
// pod, and how many pods are there of spreads that count this one.
type rank struct{ short, objections, launched, load int }

func (r rank) compare(o rank) int {
	return cmp.Or(r.short-o.short, r.objections-o.objections, r.launched-o.launched, r.load-o.load)
}

func (v *assignment) rank(i, left int) rank {
	var r rank
	if v.starts {
		r.short = max(0, left-v.most[i])
	}
	if v.launches(i) {
		r.launched = 1
	}
	for k := range v.parts {
		switch p := &v.parts[k]; {
		case p.at[i] < 0:
			r.objections += p.Weight
		case p.Weight > 0:
			r.objections += p.Weight * p.l.Objections(p.at[i], p.Selected)
		case p.l.Kind == topology.Spread && p.Selected:
			r.load += p.l.Selected(p.at[i])
		}
	}
	return r
}

// limit is the most that a cell may cost which is chosen for a preference: little more than
// the cheapest in which machines can be launched.
func (v *assignment) limit() float64 {
	least := math.Inf(1)
	for i := range v.cells {
		if v.prefers && v.open(i) {
			least = min(least, v.cells[i].cost)
		}
	}
	return least * (1 + v.a.allowance)
}
