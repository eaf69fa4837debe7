package arrange

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// divide gives each pod of a group a domain.
func (a *Arranger) divide(g *demand.Group, key string, lessons Lessons) []*demand.Group {
	var roles []demand.Role
	for _, r := range g.Shape.Roles {
		if a.Company.Ledgers[r.Rule].Key == key {
			roles = append(roles, r)
		}
	}
	domains := a.domainsOf(g, key)
	if len(domains) == 0 && a.undecided(g, key) {
		return []*demand.Group{a.refuse(g, a.closedRule(domains, roles))}
	}
	if len(domains) == 0 {
		// Something else is in the way, and will be told.
		return []*demand.Group{{Shape: a.Intern(a.free(g.Shape, key)), Need: g.Need, Pods: g.Pods, Bundle: 1}}
	}
	if a.onlyShunned(roles) {
		return []*demand.Group{a.avoid(g, key, domains, roles)}
	}
	in := make([][]*snapshot.Pod, len(domains))
	give := func(p *snapshot.Pod, i int) {
		in[i] = append(in[i], p)
		for _, r := range roles {
			l := a.Company.Ledgers[r.Rule]
			if _, known := lessons.others[l.ID]; r.Owns || !known {
				l.Record(domains[i].name, r.Part)
			}
		}
	}
	var rest []*snapshot.Pod
	for _, p := range g.Pods {
		if i := a.nominatedTo(p, key, domains); i >= 0 && a.open(domains, in, roles, i) {
			give(p, i)
			continue
		}
		rest = append(rest, p)
	}
	for last := -1; len(rest) > 0; rest = rest[1:] {
		if last = a.pick(domains, in, roles, last); last < 0 {
			break
		}
		give(rest[0], last)
	}
	var out []*demand.Group
	for i, pods := range in {
		if len(pods) > 0 {
			out = append(out, a.bind(g, requirement.Must(key, requirement.In, domains[i].name), pods))
		}
	}
	if len(rest) > 0 {
		left := &demand.Group{Shape: g.Shape, Need: g.Need, Pods: rest, Bundle: 1}
		out = append(out, a.refuse(left, a.closedRule(domains, roles)))
	}
	return out
}

// nominatedTo is the domain of the machine that an earlier plan counted on for a
// pod, -1 if there is none: the pod stays there if it can.
func (a *Arranger) nominatedTo(p *snapshot.Pod, key string, domains []domain) int {
	name, ok := a.Snap.Nominated[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]
	if !ok {
		return -1
	}
	if a.names == nil {
		a.names = a.Machines.ByName()
	}
	m, ok := a.names[name]
	if !ok {
		return -1
	}
	there, _ := a.Machines.List[m].Domain(key)
	return slices.IndexFunc(domains, func(d domain) bool { return d.name == there })
}

// open reports whether a domain takes one more pod.
func (a *Arranger) open(domains []domain, in [][]*snapshot.Pod, roles []demand.Role, i int) bool {
	return len(in[i]) < domains[i].room && !slices.ContainsFunc(roles, func(r demand.Role) bool {
		return !a.Company.Ledgers[r.Rule].Open(domains[i].name, r.Part)
	})
}

// pick chooses the domain for one more pod: of those that all rules leave open
// the one with the fewest pods of the spreads; without spreads the same as
// before, and the cheapest to begin with.
func (a *Arranger) pick(domains []domain, in [][]*snapshot.Pod, roles []demand.Role, last int) int {
	best, fewest := -1, 0
	for i := range domains {
		if !a.open(domains, in, roles, i) {
			continue
		}
		load := 0
		for _, r := range roles {
			if l := a.Company.Ledgers[r.Rule]; l.Kind == topology.Spread {
				load += l.Selected[domains[i].name]
			}
		}
		if best < 0 || load < fewest || load == fewest && i == last && !a.spreads(roles) {
			best, fewest = i, load
		}
	}
	return best
}

func (a *Arranger) spreads(roles []demand.Role) bool {
	return slices.ContainsFunc(roles, func(r demand.Role) bool { return a.Company.Ledgers[r.Rule].Kind == topology.Spread })
}

// onlyShunned reports whether all that happens to the pods is that running pods
// do not want them near: then it does not matter which other domain they are in.
func (a *Arranger) onlyShunned(roles []demand.Role) bool {
	return !slices.ContainsFunc(roles, func(r demand.Role) bool {
		return a.Company.Ledgers[r.Rule].Kind != topology.AntiAffinity || r.Owns || a.Company.Wanted[r.Rule]
	})
}

// avoid keeps a group out of the domains that are closed to it.
func (a *Arranger) avoid(g *demand.Group, key string, domains []domain, roles []demand.Role) *demand.Group {
	var closed []string
	for _, r := range roles {
		l := a.Company.Ledgers[r.Rule]
		for name := range l.Owners {
			if !l.Open(name, r.Part) {
				closed = append(closed, name)
			}
		}
	}
	if len(closed) == 0 {
		return &demand.Group{Shape: a.Intern(a.free(g.Shape, key)), Need: g.Need, Pods: g.Pods, Bundle: 1}
	}
	if !slices.ContainsFunc(domains, func(d domain) bool { return !slices.Contains(closed, d.name) }) {
		return a.refuse(g, a.closedRule(domains, roles))
	}
	return a.bind(g, requirement.Must(key, requirement.NotIn, closed...), g.Pods)
}

// closedRule names the first rule that leaves none of the domains open.
func (a *Arranger) closedRule(domains []domain, roles []demand.Role) plan.Reason {
	for _, r := range roles {
		l := a.Company.Ledgers[r.Rule]
		if !slices.ContainsFunc(domains, func(d domain) bool { return l.Open(d.name, r.Part) }) {
			return demand.Unsatisfiable(l)
		}
	}
	return demand.Unsatisfiable(a.Company.Ledgers[roles[0].Rule])
}
