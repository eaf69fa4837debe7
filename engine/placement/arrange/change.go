package arrange

import (
	"cmp"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// Changes are what may be done otherwise so that groups which were left get a place
// where others are in their way: they come first themselves, or the others last, or
// those stay out of a domain, or in one. There are none where nobody is in anybody's way.
func (a *Arranger) Changes(left []*demand.Group) []Change {
	if a.Company == nil {
		return nil
	}
	hindered, rivals := a.rivals(left)
	if len(hindered) == 0 {
		return nil
	}
	first, others := keysOf(hindered), keysOf(originsOf(rivals))
	out := []Change{{First: first}, {Ahead: first}}
	for _, d := range a.contested(hindered, rivals) {
		out = append(out, Change{First: others, Domain: d, Out: others})
	}
	for _, d := range a.needless(hindered) {
		out = append(out, Change{Domain: d, Shut: true})
	}
	out = append(out, a.retreats(rivals)...)
	out = append(out, a.stands(hindered)...)
	if len(first) > 1 {
		for i := range first {
			out = append(out, Change{Ahead: first[i : i+1]})
		}
	}
	for _, key := range others {
		out = append(out, Change{Last: key})
	}
	for _, o := range rivals {
		if s := a.seats[o]; s.pods < a.divided[o.Origin.Key()] {
			for _, d := range s.domains {
				out = append(out, Change{Domain: d, Out: []string{o.Origin.Key()}})
			}
		}
	}
	return out
}

// rivals are the groups that others keep out, as they were before they were divided,
// and the parts of those others.
func (a *Arranger) rivals(left []*demand.Group) (hindered, rivals []*demand.Group) {
	for _, g := range originsOf(left) {
		found := false
		for _, o := range a.Batch.Groups {
			if o.Origin == nil || len(o.Shape.Refused) > 0 || o.Origin.Key() == g.Key() || !a.hinders(o.Origin.Shape, g.Shape) {
				continue
			}
			found = true
			if !slices.Contains(rivals, o) {
				rivals = append(rivals, o)
			}
		}
		if found {
			hindered = append(hindered, g)
		}
	}
	return hindered, rivals
}

// originsOf are the groups that parts are of.
func originsOf(parts []*demand.Group) []*demand.Group {
	var out []*demand.Group
	seen := map[string]bool{}
	for _, o := range parts {
		if o.Origin != nil && !seen[o.Origin.Key()] {
			seen[o.Origin.Key()] = true
			out = append(out, o.Origin)
		}
	}
	return out
}

func keysOf(groups []*demand.Group) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = g.Key()
	}
	return out
}

// contested are the domains where some are that are in the way of others, and where
// those could be.
func (a *Arranger) contested(hindered, rivals []*demand.Group) []Domain {
	var out []Domain
	for _, o := range rivals {
		out = append(out, a.seats[o].domains...)
	}
	for _, g := range hindered {
		out = append(out, a.open(g, topology.Spread, topology.AntiAffinity)...)
	}
	return sorted(out)
}

// needless are the domains that spreads compare although those that are left could not
// be there, nor is there a machine.
func (a *Arranger) needless(hindered []*demand.Group) []Domain {
	var out []Domain
	for _, g := range hindered {
		for _, r := range g.Shape.Roles {
			l := a.Company.Ledgers[r.Rule]
			if !r.Owns || l.PerNode() || l.Kind != topology.Spread {
				continue
			}
			mine := a.open(g, topology.Spread)
			for _, name := range l.Known() {
				d := Domain{l.Key, name}
				there := slices.ContainsFunc(a.Machines.List, func(m *supply.Machine) bool { return slices.Contains(domainsAt(m, l.Key), name) })
				if !there && !slices.Contains(mine, d) {
					out = append(out, d)
				}
			}
		}
	}
	return sorted(out)
}

// retreats keep all who are in a domain within it, for one domain at a time.
func (a *Arranger) retreats(rivals []*demand.Group) []Change {
	var out []Change
	for _, d := range a.contested(nil, rivals) {
		c := Change{Domain: d}
		for _, o := range rivals {
			if slices.Contains(a.seats[o].domains, d) {
				c.In = append(c.In, o.Origin.Key())
			}
		}
		out = append(out, c)
	}
	return out
}

// stands let groups that keep away from others come first, but into one domain.
func (a *Arranger) stands(hindered []*demand.Group) []Change {
	var out []Change
	for _, g := range hindered {
		for _, d := range sorted(a.open(g, topology.AntiAffinity)) {
			out = append(out, Change{Ahead: []string{g.Key()}, Domain: d, In: []string{g.Key()}})
		}
	}
	return out
}

// open are the domains where a group could be by itself, of the labels that its rules of
// some kinds are about.
func (a *Arranger) open(g *demand.Group, kinds ...topology.Kind) []Domain {
	var out []Domain
	for _, r := range g.Shape.Roles {
		l := a.Company.Ledgers[r.Rule]
		if l.PerNode() || !slices.Contains(kinds, l.Kind) {
			continue
		}
		for _, c := range a.cellsOf(g, []string{l.Key}) {
			out = append(out, Domain{l.Key, c.values[0]})
		}
	}
	return out
}

// sorted lists domains once each.
func sorted(list []Domain) []Domain {
	slices.SortFunc(list, func(x, y Domain) int { return cmp.Or(cmp.Compare(x.Label, y.Label), cmp.Compare(x.Name, y.Name)) })
	return slices.Compact(list)
}

// hinders reports whether where pods of one shape are can keep those of another out.
func (a *Arranger) hinders(one, other *demand.Shape) bool {
	for _, r := range other.Roles {
		l := a.Company.Ledgers[r.Rule]
		if i := slices.IndexFunc(one.Roles, func(x demand.Role) bool { return x.Rule == r.Rule }); i >= 0 {
			if x := one.Roles[i]; r.Owns && x.Selected || l.Kind == topology.AntiAffinity && r.Selected && x.Owns {
				return true
			}
		}
	}
	return false
}
