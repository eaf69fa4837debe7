package arrange

import (
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// Changes are what may be done otherwise so that groups which were left get a place
// where others are in their way: they come first themselves, or the others last, or
// those stay out of a domain. There are none where nobody is in anybody's way.
func (a *Arranger) Changes(left []*demand.Group) []Change {
	if a.Company == nil {
		return nil
	}
	hindered, rivals := a.rivals(left)
	if len(hindered) == 0 {
		return nil
	}
	out := []Change{{First: hindered}, {Ahead: hindered}}
	out = append(out, a.detours(rivals)...)
	if len(hindered) > 1 {
		for i := range hindered {
			out = append(out, Change{Ahead: hindered[i : i+1]})
		}
	}
	var last []string
	for _, o := range rivals {
		if key := o.Origin.Key(); !slices.Contains(last, key) {
			last = append(last, key)
			out = append(out, Change{Last: key})
		}
	}
	for _, o := range rivals {
		if path, ok := a.paths[o]; ok && a.given[o] < a.divided[o.Origin.Key()] {
			out = append(out, Change{Without: []string{path}})
		}
	}
	return out
}

// rivals are the groups that others keep out, by their keys, and the parts of those
// others.
func (a *Arranger) rivals(left []*demand.Group) (hindered []string, rivals []*demand.Group) {
	for _, g := range left {
		if g.Origin == nil || slices.Contains(hindered, g.Origin.Key()) {
			continue
		}
		key, found := g.Origin.Key(), false
		for _, o := range a.Batch.Groups {
			if o.Origin == nil || len(o.Shape.Refused) > 0 || o.Origin.Key() == key || !a.hinders(o.Origin.Shape, g.Origin.Shape) {
				continue
			}
			found = true
			if !slices.Contains(rivals, o) {
				rivals = append(rivals, o)
			}
		}
		if found {
			hindered = append(hindered, key)
		}
	}
	return hindered, rivals
}

// detours keep, for one domain at a time, all who are there out of it.
func (a *Arranger) detours(rivals []*demand.Group) []Change {
	var domains []string
	in := map[string][]string{}
	for _, o := range rivals {
		path, ok := a.paths[o]
		if !ok {
			continue
		}
		_, domain, _ := strings.Cut(path[len(o.Origin.Key()):], "\x00")
		if in[domain] == nil {
			domains = append(domains, domain)
		}
		in[domain] = append(in[domain], path)
	}
	slices.Sort(domains)
	var out []Change
	for _, domain := range domains {
		out = append(out, Change{Without: in[domain]})
	}
	return out
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
