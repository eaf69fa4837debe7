package arrange

import (
	"cmp"
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// domain is a value of a label where pods of a group can be.
type domain struct {
	name string
	// price is that of the cheapest machine for a pod; zero if one exists.
	price float64
	// room is how many of the pods there is space for; endless where new machines
	// can be launched.
	room int
}

// knowDomains tells every spread the domains in which new nodes may come to be,
// and those where the last round had some.
func (a *Arranger) knowDomains(lessons Lessons) {
	for _, l := range a.Company.Ledgers {
		for name := range lessons.domains[l.ID] {
			l.Known[name] = true
		}
		for name, n := range lessons.others[l.ID] {
			l.Selected[name] += n
		}
	}
	for _, g := range a.Batch.Groups {
		for _, r := range g.Shape.Roles {
			if l := a.Company.Ledgers[r.Rule]; r.Owns && l.Kind == topology.Spread && !l.PerNode() && len(g.Shape.Refused) == 0 {
				for _, d := range a.domainsOf(g, l.Key) {
					l.Known[d.name] = true
				}
			}
		}
	}
}

// domainsOf lists the domains for a group, the cheapest first, then by name.
func (a *Arranger) domainsOf(g *demand.Group, key string) []domain {
	index := map[string]int{}
	var out []domain
	add := func(name string, price float64, room int) {
		i, ok := index[name]
		if !ok {
			i = len(out)
			index[name], out = i, append(out, domain{name: name, price: math.Inf(1)})
		}
		out[i].price, out[i].room = min(out[i].price, price), min(out[i].room+room, math.MaxInt32)
	}
	f := a.Family(g.Shape)
	for i := range a.Machines.Accepting(g.Shape).All() {
		m := a.Machines.List[i]
		if name, ok := m.Domain(key); ok {
			if room := m.Load.Room(&f, g.Need, g.Units()); room > 0 {
				add(name, 0, room)
			}
		}
	}
	m := a.Market
	launches := m.Accepting(g.Shape)
	launches.And(m.Available)
	for i := range launches.All() {
		l := &m.Launches[i]
		r := m.Index.Says(i, key)
		if r.Finite() && len(r.Values()) == 1 && m.Takes(g.Need, l) {
			add(r.Values()[0], l.Offering.Price, math.MaxInt32)
		}
	}
	slices.SortFunc(out, func(x, y domain) int {
		return cmp.Or(cmp.Compare(x.price, y.price), cmp.Compare(x.name, y.name))
	})
	return out
}

// undecided reports whether some machine would take a group's pods, but it is not
// known in which domain it is or will be.
func (a *Arranger) undecided(g *demand.Group, key string) bool {
	f := a.Family(g.Shape)
	for i := range a.Machines.Accepting(g.Shape).All() {
		m := a.Machines.List[i]
		if _, ok := m.Domain(key); !ok && m.Load.Room(&f, g.Need, 1) > 0 {
			return true
		}
	}
	return false
}
