package assign

import (
	"math"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// assignment is a group on its way into cells: all labels of its rules at once, so
// that the pods, one after the other, keep all rules all the time.
type assignment struct {
	a     *Assigner
	g     *demand.Group
	keys  []string
	cells []cell
	in    [][]*snapshot.Pod
	// most is how many pods a cell takes at most: by its room, and by what an
	// earlier round has found out.
	most  []int
	parts []part
	// prefers reports whether some of the rules are preferences, starts whether the first
	// pod decides for all.
	prefers, starts bool
	// rest are the group's pods that have no cell yet, apart the parts of it that get none.
	rest  []*snapshot.Pod
	apart []*demand.Group
	// near are the cells of machines that an earlier plan counted on, by the first pod of a unit.
	near map[*snapshot.Pod]int
}

// part is the part of a group in one rule over a label.
type part struct {
	demand.Membership
	l *topology.DomainCounts
	// at are the numbers of the domains by cell, -1 where a cell is in none.
	at []int
	// bound reports that the pods have to be in some domain.
	bound bool
}

// begin starts to divide a group over domains. Pods beyond the group's quota are left as
// they are, without a machine.
func (a *Assigner) begin(g *demand.Group) *assignment {
	whole := *g
	v := &assignment{a: a, g: &whole, keys: a.labels(g)}
	if quota, ok := a.cuts.most[g.Key()]; ok && quota < len(g.Pods) {
		quota -= quota % g.Bundle
		v.split(g.Pods[quota:], a.RuleOf(g))
		g.Pods = g.Pods[:quota:quota]
	}
	whole.Pods = g.Pods
	switch {
	case len(g.Pods) == 0:
	case len(v.keys) == 0:
		v.apart = append(v.apart, a.bindToNodes(g))
	default:
		v.look()
	}
	return v
}

// complete reports whether no pod is left that needs a cell.
func (v *assignment) complete() bool { return len(v.rest) == 0 }

// split leaves pods without a place: of a unit those that smaller ones have no place for.
func (v *assignment) split(pods []*snapshot.Pod, why plan.Reason) {
	if v.g.Bundle == 1 {
		v.apart = append(v.apart, v.a.refuse(v.g, pods, why))
		return
	}
	smaller, refused := v.a.shrink(v.g, pods)
	v.a.waiting, v.apart = append(v.a.waiting, smaller), append(v.apart, refused...)
}

// next puts the next pod into a cell, and reports whether there is one. Pods for which an earlier
// plan counted on a machine come first, as far as their cells are open: one that a spread closes
// opens again when others have caught up with it.
func (v *assignment) next() bool {
	if v.complete() {
		return false
	}
	at, i, n := 0, -1, v.g.Bundle
	for u := 0; u < len(v.rest) && len(v.near) > 0 && i < 0; u += n {
		if near, ok := v.near[v.rest[u]]; ok && v.open(near) {
			at, i = u, near
		}
	}
	if i < 0 {
		i = v.pick(len(v.rest) / n)
	}
	if i >= 0 {
		delete(v.near, v.rest[at])
		v.give(v.rest[at:at+n], i)
		copy(v.rest[n:], v.rest[:at])
		v.rest = v.rest[n:]
	}
	return i >= 0
}

// labels are those of the topology domains over which a group is divided.
func (a *Assigner) labels(g *demand.Group) []string {
	var keys []string
	for _, r := range g.Shape.Memberships {
		if l := a.PodTopology.Counts[r.Rule]; !l.PerNode() {
			keys = append(keys, l.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// look finds the cells, and what there is to know of them.
func (v *assignment) look() {
	a, g, keys := v.a, v.g, v.keys
	v.cells = a.cellsOf(g, keys)
	for _, r := range g.Shape.Memberships {
		l := a.PodTopology.Counts[r.Rule]
		key := slices.Index(keys, l.Key)
		if key < 0 {
			continue
		}
		p := part{Membership: r, l: l, bound: r.Declares && l.Kind != topology.AntiAffinity}
		for _, c := range v.cells {
			d := -1
			if c.values[key] != nowhere {
				d = l.At(c.values[key])
			}
			p.at = append(p.at, d)
		}
		v.parts = append(v.parts, p)
		v.prefers = v.prefers || r.Weight > 0
		v.starts = v.starts || l.Kind == topology.Affinity && (r.Declares || r.Weight > 0) && l.Anywhere() == 0
	}
	v.rest, v.near = slices.Clone(g.Pods), map[*snapshot.Pod]int{}
	for unit := range slices.Chunk(v.rest, g.Bundle) {
		if i := v.nominatedTo(unit[0]); i >= 0 {
			v.near[unit[0]] = i
		}
	}
	v.in, v.most = make([][]*snapshot.Pod, len(v.cells)), make([]int, len(v.cells))
	for i := range v.cells {
		v.most[i] = v.cells[i].free
		if !math.IsInf(v.cells[i].cost, 1) {
			v.most[i] = unbounded
		}
		if most, ok := a.cuts.most[v.path(i)]; ok {
			v.most[i] = min(v.most[i], most/g.Bundle)
		}
	}
}

func (v *assignment) path(i int) string { return pathOf(v.g, v.keys, v.cells[i].values) }

// pathOf names a cell of a group.
func pathOf(g *demand.Group, keys, values []string) string {
	return g.Key() + "\x00" + strings.Join(keys, ",") + "=" + strings.Join(values, ",")
}

func (v *assignment) give(unit []*snapshot.Pod, i int) {
	v.in[i] = append(v.in[i], unit...)
	for k := range v.parts {
		if r := &v.parts[k]; r.at[i] >= 0 {
			v.g.Shape.Record(r.l, r.at[i], r.Membership, 1)
		}
	}
}

// groups are the parts of the group in their cells, and those that have none.
func (v *assignment) groups() []*demand.Group {
	out := v.apart
	for i, pods := range v.in {
		if len(pods) == 0 {
			continue
		}
		var to requirement.Set
		for k, key := range v.keys {
			if value := v.cells[i].values[k]; value != nowhere {
				to = to.With(requirement.Must(key, requirement.In, value))
			} else {
				to = to.With(requirement.Must(key, requirement.DoesNotExist))
			}
		}
		g := v.a.bind(v.g, to, pods)
		v.a.slots[g] = slot{path: v.path(i), pods: len(pods)}
		out = append(out, v.a.bindToNodes(g))
	}
	if !v.complete() {
		out = append(out, v.a.refuse(v.g, v.rest, v.closedRule()))
	}
	for _, part := range out {
		part.Origin = v.g
	}
	return out
}

// nominatedTo is the cell of the machine that an earlier plan counted on for a
// pod, -1 if there is none: the pod stays there if it can.
func (v *assignment) nominatedTo(p *snapshot.Pod) int {
	a := v.a
	at, ok := a.NominatedTo(p)
	if !ok {
		return -1
	}
	for in := range cellsAt(v.keys, func(key string) []string { return certainly(a.Machines.List[at], key) }) {
		return slices.IndexFunc(v.cells, func(c cell) bool { return slices.Equal(c.values, in) })
	}
	return -1
}

// closedRule names the first rule that leaves none of the cells open.
func (v *assignment) closedRule() plan.Reason {
	for _, p := range v.parts {
		if p.Weight == 0 && !slices.ContainsFunc(p.at, p.open) {
			return demand.Unsatisfiable(p.l)
		}
	}
	return demand.Unsatisfiable(v.parts[0].l)
}
