package placement

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// arranger gives pods that mind who is near a domain. It is not safe for
// concurrent use.
type arranger struct {
	*supply
	// owners are a shape that owns each rule, nil if none does, groups the keys of
	// the owners' groups, counted the machines that a spread compares; all by rule.
	owners  []*shape
	groups  [][]string
	counted []bitset.Set
	// awaited are the rules that select pending pods which do not own them.
	awaited map[int]bool
	// divided is how many pods of each group were given a domain.
	divided map[string]int
	// names are the machines by the names of their Nodes and claims, once asked for.
	names map[string]int
}

func newArranger(s *supply) *arranger {
	a := &arranger{supply: s, awaited: map[int]bool{}, divided: map[string]int{}}
	a.observe()
	return a
}

// arrange decides, for pods that mind who is near, in which domain each
// goes, and binds them to it: from then on it is a label like any other. Pods for
// which there is no domain are refused.
//
// First come pods that mind nobody but are minded, so that the others see where
// they are; then those with rules of their own; and last those that follow others.
// An affinity that the pods themselves satisfy begins where the first of them
// goes.
func (a *arranger) arrange(lessons lessons) {
	if a.company == nil {
		return
	}
	a.knowDomains(lessons)
	var done, owners, waiting []*group
	for _, g := range a.batch.groups {
		switch {
		case len(g.shape.roles) == 0 || len(g.shape.refused) > 0:
			done = append(done, g)
		case a.follows(g):
			waiting = append(waiting, g)
		case slices.ContainsFunc(g.shape.roles, func(r role) bool { return r.Owns }):
			owners = append(owners, g)
		default:
			done = append(done, a.settle(g, lessons)...)
		}
	}
	for _, g := range owners {
		done = append(done, a.settle(g, lessons)...)
	}
	for progress := true; progress && len(waiting) > 0; {
		progress = false
		for i, g := range waiting {
			if a.ready(g) {
				done = append(done, a.settle(g, lessons)...)
				waiting = slices.Delete(waiting, i, i+1)
				progress = true
				break
			}
		}
	}
	for _, g := range waiting {
		done = append(done, a.refuse(g, a.unmet(g)))
	}
	a.batch.groups = done
	a.batch.order()
}

// follows reports whether a group owns an affinity.
func (a *arranger) follows(g *group) bool {
	return slices.ContainsFunc(g.shape.roles, func(r role) bool {
		return r.Owns && a.company.ledgers[r.rule].Kind == topology.Affinity
	})
}

// ready reports whether somebody is there for each affinity of a group, or may be
// with the group itself.
func (a *arranger) ready(g *group) bool {
	return !slices.ContainsFunc(g.shape.roles, func(r role) bool {
		l := a.company.ledgers[r.rule]
		return r.Owns && l.Kind == topology.Affinity && !r.Selected && len(l.Selected) == 0
	})
}

// unmet explains an affinity to nobody.
func (a *arranger) unmet(g *group) plan.Reason {
	for _, r := range g.shape.roles {
		if l := a.company.ledgers[r.rule]; r.Owns && l.Kind == topology.Affinity && len(l.Selected) == 0 {
			return unsatisfiable(l)
		}
	}
	return plan.Reason{Code: plan.TopologyNotSatisfiable}
}

func unsatisfiable(l *topology.Ledger) plan.Reason {
	return plan.Reason{Code: plan.TopologyNotSatisfiable, Want: l.String(), Have: l.Standing()}
}

// refuse makes a group of pods that cannot go anywhere.
func (a *arranger) refuse(g *group, r plan.Reason) *group {
	sh := *g.shape
	sh.refused = []plan.Reason{r}
	return &group{shape: a.intern(&sh), need: g.need, pods: g.pods, bundle: 1}
}

// intern finds the shape that is treated like this one.
func (a *arranger) intern(sh *shape) *shape {
	sh.identify(&a.ports)
	if same, ok := a.same[sh.key]; ok {
		return same
	}
	a.same[sh.key] = sh
	return sh
}

// knowDomains tells every spread the domains in which new nodes may come to be,
// and those where the last round had some.
func (a *arranger) knowDomains(lessons lessons) {
	for _, l := range a.company.ledgers {
		for name := range lessons.domains[l.ID] {
			l.Known[name] = true
		}
		for name, n := range lessons.others[l.ID] {
			l.Selected[name] += n
		}
	}
	for _, g := range a.batch.groups {
		for _, r := range g.shape.roles {
			if l := a.company.ledgers[r.rule]; r.Owns && l.Kind == topology.Spread && !l.PerNode() && len(g.shape.refused) == 0 {
				for _, d := range a.domainsOf(g, l.Key) {
					l.Known[d.name] = true
				}
			}
		}
	}
}

// domain is a value of a label where pods of a group can be.
type domain struct {
	name string
	// price is that of the cheapest machine for a pod; zero if one exists.
	price float64
	// room is how many of the pods there is space for; endless where new machines
	// can be launched.
	room int
}

// domainsOf lists the domains for a group, the cheapest first, then by name.
func (a *arranger) domainsOf(g *group, key string) []domain {
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
	f := a.family(g.shape)
	for i := range a.machines.accepting(g.shape).All() {
		m := a.machines.list[i]
		if name, ok := m.domain(key); ok {
			if room := m.load.Room(&f, g.need, g.units()); room > 0 {
				add(name, 0, room)
			}
		}
	}
	m := a.market
	launches := m.accepting(g.shape)
	launches.And(m.available)
	for i := range launches.All() {
		l := &m.launches[i]
		r := m.index.Says(i, key)
		if r.Finite() && len(r.Values()) == 1 && m.takes(g.need, l) {
			add(r.Values()[0], l.offering.Price, math.MaxInt32)
		}
	}
	slices.SortFunc(out, func(x, y domain) int {
		return cmp.Or(cmp.Compare(x.price, y.price), cmp.Compare(x.name, y.name))
	})
	return out
}

// undecided reports whether some machine would take a group's pods, but it is not
// known in which domain it is or will be.
func (a *arranger) undecided(g *group, key string) bool {
	f := a.family(g.shape)
	for i := range a.machines.accepting(g.shape).All() {
		m := a.machines.list[i]
		if _, ok := m.domain(key); !ok && m.load.Room(&f, g.need, 1) > 0 {
			return true
		}
	}
	return false
}

// takes reports whether a launch's machine has room for the need.
func (m *market) takes(need []int64, l *launch) bool {
	for d, n := range need {
		if n > 0 && n+m.overheads[l.overhead].need[d] > m.kinds[l.kind].allocatable[d] {
			return false
		}
	}
	return true
}

// empty is a launch's machine with nothing but its DaemonSets.
func (m *market) empty(i int) pack.Load {
	l := &m.launches[i]
	return pack.Load{Free: m.holds(l), Present: m.overheads[l.overhead].present}
}

// settle divides a group over domains, one kind of domain after the other. Pods
// beyond the group's quota are left as they are, without a machine.
func (a *arranger) settle(g *group, lessons lessons) []*group {
	whole := *g
	var out []*group
	if quota, ok := lessons.quotas[g.key()]; ok && quota < len(g.pods) {
		out = append(out, a.hold(g, g.pods[quota:]))
		g.pods = g.pods[:quota:quota]
	}
	if len(g.pods) == 0 {
		return out
	}
	a.divided[g.key()] = len(g.pods)
	parts := []*group{g}
	for _, key := range a.keysOf(g.shape) {
		var next []*group
		for _, part := range parts {
			if len(part.shape.refused) > 0 {
				next = append(next, part)
				continue
			}
			next = append(next, a.divide(part, key, lessons)...)
		}
		parts = next
	}
	for _, part := range parts {
		out = append(out, a.bundled(part)...)
	}
	for _, part := range out {
		part.origin = &whole
	}
	return out
}

// hold refuses pods that found no machine where their rules would have them, for
// what the pools have against more machines.
func (a *arranger) hold(g *group, pods []*snapshot.Pod) *group {
	reasons := append(a.verdicts(g), a.ruleOf(g))
	sh := *g.shape
	sh.refused = reasons
	return &group{shape: a.intern(&sh), need: g.need, pods: pods, bundle: 1}
}

// keysOf are the labels over which a shape's rules go, but for nodes.
func (a *arranger) keysOf(sh *shape) []string {
	var out []string
	for _, r := range sh.roles {
		if l := a.company.ledgers[r.rule]; !l.PerNode() {
			out = append(out, l.Key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// divide gives each pod of a group a domain.
func (a *arranger) divide(g *group, key string, lessons lessons) []*group {
	var roles []role
	for _, r := range g.shape.roles {
		if a.company.ledgers[r.rule].Key == key {
			roles = append(roles, r)
		}
	}
	domains := a.domainsOf(g, key)
	if len(domains) == 0 && a.undecided(g, key) {
		return []*group{a.refuse(g, a.closedRule(domains, roles))}
	}
	if len(domains) == 0 {
		// Something else is in the way, and will be told.
		return []*group{{shape: a.intern(a.free(g.shape, key)), need: g.need, pods: g.pods, bundle: 1}}
	}
	if a.onlyShunned(roles) {
		return []*group{a.avoid(g, key, domains, roles)}
	}
	in := make([][]*snapshot.Pod, len(domains))
	give := func(p *snapshot.Pod, i int) {
		in[i] = append(in[i], p)
		for _, r := range roles {
			l := a.company.ledgers[r.rule]
			if _, known := lessons.others[l.ID]; r.Owns || !known {
				l.Record(domains[i].name, r.Part)
			}
		}
	}
	var rest []*snapshot.Pod
	for _, p := range g.pods {
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
	var out []*group
	for i, pods := range in {
		if len(pods) > 0 {
			out = append(out, a.bind(g, requirement.Must(key, requirement.In, domains[i].name), pods))
		}
	}
	if len(rest) > 0 {
		left := &group{shape: g.shape, need: g.need, pods: rest, bundle: 1}
		out = append(out, a.refuse(left, a.closedRule(domains, roles)))
	}
	return out
}

// nominatedTo is the domain of the machine that an earlier plan counted on for a
// pod, -1 if there is none: the pod stays there if it can.
func (a *arranger) nominatedTo(p *snapshot.Pod, key string, domains []domain) int {
	name, ok := a.snap.Nominated[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]
	if !ok {
		return -1
	}
	if a.names == nil {
		a.names = a.machines.byName()
	}
	m, ok := a.names[name]
	if !ok {
		return -1
	}
	there, _ := a.machines.list[m].domain(key)
	return slices.IndexFunc(domains, func(d domain) bool { return d.name == there })
}

// open reports whether a domain takes one more pod.
func (a *arranger) open(domains []domain, in [][]*snapshot.Pod, roles []role, i int) bool {
	return len(in[i]) < domains[i].room && !slices.ContainsFunc(roles, func(r role) bool {
		return !a.company.ledgers[r.rule].Open(domains[i].name, r.Part)
	})
}

// pick chooses the domain for one more pod: of those that all rules leave open
// the one with the fewest pods of the spreads; without spreads the same as
// before, and the cheapest to begin with.
func (a *arranger) pick(domains []domain, in [][]*snapshot.Pod, roles []role, last int) int {
	best, fewest := -1, 0
	for i := range domains {
		if !a.open(domains, in, roles, i) {
			continue
		}
		load := 0
		for _, r := range roles {
			if l := a.company.ledgers[r.rule]; l.Kind == topology.Spread {
				load += l.Selected[domains[i].name]
			}
		}
		if best < 0 || load < fewest || load == fewest && i == last && !a.spreads(roles) {
			best, fewest = i, load
		}
	}
	return best
}

func (a *arranger) spreads(roles []role) bool {
	return slices.ContainsFunc(roles, func(r role) bool { return a.company.ledgers[r.rule].Kind == topology.Spread })
}

// onlyShunned reports whether all that happens to the pods is that running pods
// do not want them near: then it does not matter which other domain they are in.
func (a *arranger) onlyShunned(roles []role) bool {
	return !slices.ContainsFunc(roles, func(r role) bool {
		return a.company.ledgers[r.rule].Kind != topology.AntiAffinity || r.Owns || a.company.wanted[r.rule]
	})
}

// avoid keeps a group out of the domains that are closed to it.
func (a *arranger) avoid(g *group, key string, domains []domain, roles []role) *group {
	var closed []string
	for _, r := range roles {
		l := a.company.ledgers[r.rule]
		for name := range l.Owners {
			if !l.Open(name, r.Part) {
				closed = append(closed, name)
			}
		}
	}
	if len(closed) == 0 {
		return &group{shape: a.intern(a.free(g.shape, key)), need: g.need, pods: g.pods, bundle: 1}
	}
	if !slices.ContainsFunc(domains, func(d domain) bool { return !slices.Contains(closed, d.name) }) {
		return a.refuse(g, a.closedRule(domains, roles))
	}
	return a.bind(g, requirement.Must(key, requirement.NotIn, closed...), g.pods)
}

// closedRule names the first rule that leaves none of the domains open.
func (a *arranger) closedRule(domains []domain, roles []role) plan.Reason {
	for _, r := range roles {
		l := a.company.ledgers[r.rule]
		if !slices.ContainsFunc(domains, func(d domain) bool { return l.Open(d.name, r.Part) }) {
			return unsatisfiable(l)
		}
	}
	return unsatisfiable(a.company.ledgers[roles[0].rule])
}

// bind makes a group of some of the pods that is bound to a requirement.
func (a *arranger) bind(g *group, r requirement.Requirement, pods []*snapshot.Pod) *group {
	sh := a.free(g.shape, r.Key())
	sh.terms = make([]requirement.Set, 0, len(g.shape.terms))
	for _, term := range g.shape.terms {
		if both := term.With(r); both.Get(r.Key()).Possible() {
			sh.terms = append(sh.terms, both)
		}
	}
	return &group{shape: a.intern(sh), need: g.need, pods: pods, bundle: 1}
}

// free is a copy of a shape without its parts in rules over a label.
func (a *arranger) free(from *shape, key string) *shape {
	sh := *from
	if sh.base == nil {
		sh.base = from
	}
	sh.roles = slices.DeleteFunc(slices.Clone(sh.roles), func(x role) bool { return a.company.ledgers[x.rule].Key == key })
	return &sh
}

// bundled handles affinity over nodes: a group goes where those are that it wants
// to be with, or all of it together to one machine.
func (a *arranger) bundled(g *group) []*group {
	var own []role
	for _, r := range g.shape.roles {
		if l := a.company.ledgers[r.rule]; l.PerNode() && l.Kind == topology.Affinity && r.Owns {
			own = append(own, r)
		}
	}
	if len(own) == 0 || len(g.shape.refused) > 0 {
		return []*group{g}
	}
	var there []string
	for i, r := range own {
		names := sortedKeys(a.company.ledgers[r.rule].Selected)
		if i == 0 {
			there = names
		}
		there = slices.DeleteFunc(there, func(n string) bool { return !slices.Contains(names, n) })
	}
	l := a.company.ledgers[own[0].rule]
	if len(there) > 0 {
		if slices.Contains(there, planned) {
			return []*group{a.refuse(g, unsatisfiable(l))}
		}
		return []*group{a.bindNodes(g, there)}
	}
	for _, r := range own {
		if a.awaited[r.rule] {
			// Where those will be is not known before they are there.
			return []*group{a.refuse(g, plan.Reason{
				Code: plan.TopologyNotSatisfiable, Want: a.company.ledgers[r.rule].String(), Have: "the pods that it is about are pending as well"})}
		}
	}
	return a.together(g, own)
}

// planned stands for the machine of a bundle, whose name is not known.
const planned = "a new node"

func (a *arranger) bindNodes(g *group, names []string) *group {
	roles := g.shape.roles
	out := a.bind(g, requirement.Must(corev1.LabelHostname, requirement.In, names...), g.pods)
	sh := *out.shape
	sh.roles = slices.DeleteFunc(slices.Clone(roles), func(r role) bool { return a.company.ledgers[r.rule].Kind == topology.Affinity })
	out.shape = a.intern(&sh)
	return out
}

// together makes one thing of as many pods as fit on one machine.
func (a *arranger) together(g *group, own []role) []*group {
	l := a.company.ledgers[own[0].rule]
	f := a.family(g.shape)
	most := 0
	for i := range a.machines.accepting(g.shape).All() {
		most = max(most, a.machines.list[i].load.Room(&f, g.need, len(g.pods)))
	}
	launches := a.market.accepting(g.shape)
	launches.And(a.market.available)
	for i := range launches.All() {
		load := a.market.empty(i)
		most = max(most, load.Room(&f, g.need, len(g.pods)))
	}
	if most == 0 {
		return []*group{g}
	}
	need := make([]int64, len(g.need))
	add(need, g.need, int64(most))
	out := []*group{{shape: g.shape, need: need, pods: g.pods[:most:most], bundle: most}}
	for _, r := range own {
		a.company.ledgers[r.rule].Record(planned, r.Part)
	}
	if rest := g.pods[most:]; len(rest) > 0 {
		out = append(out, a.refuse(&group{shape: g.shape, need: g.need, pods: rest, bundle: 1}, unsatisfiable(l)))
	}
	return out
}
