package arrange

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
)

// Hindered are the keys of those groups, of some that were left, which other groups
// keep out by inter-pod rules.
func (a *Arranger) Hindered(left []*demand.Group) []string {
	if a.Company == nil {
		return nil
	}
	var out []string
	for _, g := range originsOf(left) {
		if slices.ContainsFunc(a.Batch.Groups, func(o *demand.Group) bool {
			return o.Origin != nil && len(o.Shape.Refused) == 0 && o.Origin.Key() != g.Key() && a.hinders(o.Origin.Shape, g.Shape)
		}) {
			out = append(out, g.Key())
		}
	}
	return out
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
