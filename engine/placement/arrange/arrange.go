package arrange

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Arranger gives pods that mind who is near a domain. It is not safe for
// concurrent use.
type Arranger struct {
	*supply.Supply
	// owners are a shape that owns each rule, nil if none does, groups the keys of
	// the owners' groups, counted the machines that a spread compares; all by rule.
	owners  []*demand.Shape
	groups  [][]string
	counted []bitset.Set
	// awaited are the rules that select pending pods which do not own them.
	awaited map[int]bool
	// divided is how many pods of each group were given a domain.
	divided map[string]int
	// names are the machines by the names of their Nodes and claims, once asked for.
	names map[string]int
}

// New looks at who is where already.
func New(s *supply.Supply) *Arranger {
	a := &Arranger{Supply: s, awaited: map[int]bool{}, divided: map[string]int{}}
	a.observe()
	return a
}

// Arrange decides, for pods that mind who is near, in which domain each
// goes, and binds them to it: from then on it is a label like any other. Pods for
// which there is no domain are refused.
//
// First come pods that mind nobody but are minded, so that the others see where
// they are; then those with rules of their own; and last those that follow others.
// An affinity that the pods themselves satisfy begins where the first of them
// goes.
func (a *Arranger) Arrange(lessons Lessons) {
	if a.Company == nil {
		return
	}
	a.knowDomains(lessons)
	var done, owners, waiting []*demand.Group
	for _, g := range a.Batch.Groups {
		switch {
		case len(g.Shape.Roles) == 0 || len(g.Shape.Refused) > 0:
			done = append(done, g)
		case a.follows(g):
			waiting = append(waiting, g)
		case slices.ContainsFunc(g.Shape.Roles, func(r demand.Role) bool { return r.Owns }):
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
	a.Batch.Groups = done
	a.Batch.Order()
}

// follows reports whether a group owns an affinity.
func (a *Arranger) follows(g *demand.Group) bool {
	return slices.ContainsFunc(g.Shape.Roles, func(r demand.Role) bool {
		return r.Owns && a.Company.Ledgers[r.Rule].Kind == topology.Affinity
	})
}

// ready reports whether somebody is there for each affinity of a group, or may be
// with the group itself.
func (a *Arranger) ready(g *demand.Group) bool {
	return !slices.ContainsFunc(g.Shape.Roles, func(r demand.Role) bool {
		l := a.Company.Ledgers[r.Rule]
		return r.Owns && l.Kind == topology.Affinity && !r.Selected && len(l.Selected) == 0
	})
}

// unmet explains an affinity to nobody.
func (a *Arranger) unmet(g *demand.Group) plan.Reason {
	for _, r := range g.Shape.Roles {
		if l := a.Company.Ledgers[r.Rule]; r.Owns && l.Kind == topology.Affinity && len(l.Selected) == 0 {
			return demand.Unsatisfiable(l)
		}
	}
	return plan.Reason{Code: plan.TopologyNotSatisfiable}
}

// refuse makes a group of pods that cannot go anywhere.
func (a *Arranger) refuse(g *demand.Group, r plan.Reason) *demand.Group {
	sh := *g.Shape
	sh.Refused = []plan.Reason{r}
	return &demand.Group{Shape: a.Intern(&sh), Need: g.Need, Pods: g.Pods, Bundle: 1}
}

// settle divides a group over domains, one kind of domain after the other. Pods
// beyond the group's quota are left as they are, without a machine.
func (a *Arranger) settle(g *demand.Group, lessons Lessons) []*demand.Group {
	whole := *g
	var out []*demand.Group
	if quota, ok := lessons.quotas[g.Key()]; ok && quota < len(g.Pods) {
		out = append(out, a.hold(g, g.Pods[quota:]))
		g.Pods = g.Pods[:quota:quota]
	}
	if len(g.Pods) == 0 {
		return out
	}
	a.divided[g.Key()] = len(g.Pods)
	parts := []*demand.Group{g}
	for _, key := range a.keysOf(g.Shape) {
		var next []*demand.Group
		for _, part := range parts {
			if len(part.Shape.Refused) > 0 {
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
		part.Origin = &whole
	}
	return out
}

// hold refuses pods that found no machine where their rules would have them, for
// what the pools have against more machines.
func (a *Arranger) hold(g *demand.Group, pods []*snapshot.Pod) *demand.Group {
	reasons := append(a.Verdicts(g), a.RuleOf(g))
	sh := *g.Shape
	sh.Refused = reasons
	return &demand.Group{Shape: a.Intern(&sh), Need: g.Need, Pods: pods, Bundle: 1}
}

// keysOf are the labels over which a shape's rules go, but for nodes.
func (a *Arranger) keysOf(sh *demand.Shape) []string {
	var out []string
	for _, r := range sh.Roles {
		if l := a.Company.Ledgers[r.Rule]; !l.PerNode() {
			out = append(out, l.Key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// bind makes a group of some of the pods that is bound to a requirement.
func (a *Arranger) bind(g *demand.Group, r requirement.Requirement, pods []*snapshot.Pod) *demand.Group {
	sh := a.free(g.Shape, r.Key())
	sh.Terms = make([]requirement.Set, 0, len(g.Shape.Terms))
	for _, term := range g.Shape.Terms {
		if both := term.With(r); both.Get(r.Key()).Possible() {
			sh.Terms = append(sh.Terms, both)
		}
	}
	return &demand.Group{Shape: a.Intern(sh), Need: g.Need, Pods: pods, Bundle: 1}
}

// free is a copy of a shape without its parts in rules over a label.
func (a *Arranger) free(from *demand.Shape, key string) *demand.Shape {
	sh := *from
	if sh.Base == nil {
		sh.Base = from
	}
	sh.Roles = slices.DeleteFunc(slices.Clone(sh.Roles), func(x demand.Role) bool { return a.Company.Ledgers[x.Rule].Key == key })
	return &sh
}
