package placement

import (
	"cmp"
	"slices"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// useExisting puts pods on machines that exist or are on their way: first where an
// earlier plan counted on a machine, then the largest pods first, each on the machine with the
// least left that takes it. Groups that others kept out in an earlier round may come before them.
func (w *world) useExisting() {
	if len(w.Machines.List) == 0 {
		return
	}
	e := &existing{w, map[*demand.Group]bitset.Set{}}
	for _, g := range w.Groups {
		if len(g.Shape.Refused) == 0 {
			e.open[g] = w.openTo(g)
		}
	}
	e.keepNominated()
	for _, g := range e.bySize() {
		e.fill(g)
	}
}

// existing puts pods on machines. open are those that may take a group.
type existing struct {
	*world
	open map[*demand.Group]bitset.Set
}

// openTo are the machines that accept a group, but for those on which kube-scheduler does
// not put one of its pods although it had the time, for a reason that is not known here.
func (w *world) openTo(g *demand.Group) bitset.Set {
	out := w.Machines.Accepting(g.Shape.Node).Clone()
	refuse := func(p *snapshot.Pod, i int) {
		if nomination.Refused(p, w.Machines.List[i].Node, w.Snap.Now) {
			out.Remove(i)
		}
	}
	for _, p := range g.Pods {
		if _, disagreed := nomination.DisagreementOf(p); disagreed {
			for i := range out.All() {
				refuse(p, i)
			}
		}
		if i, ok := w.Machines.ByName[p.Status.NominatedNodeName]; ok && p.Spec.NodeName == "" {
			refuse(p, i)
		}
	}
	return out
}

// bySize lists the groups, those that others kept out first, then those for which no
// machine can be launched: of each the largest need first.
func (e *existing) bySize() []*demand.Group {
	largest := make([]int64, len(e.Dims.Names))
	for _, m := range e.Machines.List {
		for i, n := range e.Dims.Have(m.Node.Allocatable()) {
			largest[i] = max(largest[i], n)
		}
	}
	size, class := make(map[*demand.Group]float64, len(e.Groups)), make(map[*demand.Group]int, len(e.Groups))
	for _, g := range e.Groups {
		switch {
		case e.cuts.First(g):
			class[g] = -1
		case e.Offerings.Sells(g.Shape.Node, g.Need):
			class[g] = 1
		}
		for i, n := range g.Need {
			size[g] = max(size[g], float64(n)/float64(max(largest[i], 1)))
		}
	}
	out := slices.Clone(e.Groups)
	slices.SortStableFunc(out, func(a, b *demand.Group) int {
		return cmp.Or(cmp.Compare(class[a], class[b]), cmp.Compare(size[b], size[a]))
	})
	return out
}

// fill puts as many of a group as possible on machines: with the least left of those to
// which its pods object least. If they prefer something about the pods on the node, they come one
// at a time, as each of them changes what the next would rather have.
func (e *existing) fill(g *demand.Group) {
	f := e.Family(g.Shape)
	machines := slices.Collect(e.open[g].All())
	against := e.objections(g.Shape)
	slices.SortStableFunc(machines, func(x, y int) int { return cmp.Compare(against[x], against[y]) })
	if !slices.ContainsFunc(g.Shape.Memberships, e.prefersOnNode) {
		for i := 0; i < len(machines) && len(g.Pods) > 0; i++ {
			e.put(g, &f, machines[i], g.Units())
		}
		return
	}
	for len(g.Pods) > 0 {
		best, fewest := -1, 0
		for _, i := range machines {
			if n := against[i] + e.objectionsAt(g.Shape, i); (best < 0 || n < fewest) && e.Machines.List[i].Load.Room(&f, g.Need, 1) > 0 {
				best, fewest = i, n
			}
		}
		if best < 0 {
			return
		}
		e.put(g, &f, best, 1)
	}
}

// objections are how much a shape has against each machine by itself: the weights
// of the preferences for nodes that it does not keep.
func (e *existing) objections(sh *demand.Shape) []int {
	out := make([]int, len(e.Machines.List))
	for k := range sh.Preferences {
		p := &sh.Preferences[k]
		if p.Node == nil {
			continue
		}
		kept := e.Machines.Accepting(p.Node)
		for i := range out {
			if !kept.Has(i) {
				out[i] += p.Weight
			}
		}
	}
	return out
}

// prefersOnNode reports whether a membership prefers who is on the node. Other domains are
// decided, and counted, before.
func (e *existing) prefersOnNode(r demand.Membership) bool {
	return r.Weight > 0 && e.PodTopology.Counts[r.Rule].PerNode()
}

// objectionsAt is how much the pods on a machine are against what a shape prefers.
func (e *existing) objectionsAt(sh *demand.Shape, machine int) int {
	sum := 0
	for _, r := range sh.Memberships {
		l := e.PodTopology.Counts[r.Rule]
		if domain, ok := e.Machines.List[machine].Domain(l.Key); ok && e.prefersOnNode(r) {
			sum += r.Weight * l.Objections(l.At(domain), r.Selected)
		}
	}
	return sum
}

// put puts up to n of a group on a machine.
func (e *existing) put(g *demand.Group, f *pack.Family, machine, n int) {
	if n = e.Machines.List[machine].Load.Room(f, g.Need, n); n > 0 {
		e.place(g, f, machine, g.Take(n))
	}
}

// place puts pods of a group on a machine that has room, and counts them for rules over nodes.
func (e *existing) place(g *demand.Group, f *pack.Family, machine int, pods []*snapshot.Pod) {
	m, n := e.Machines.List[machine], len(pods)/g.Bundle
	m.Load.Add(f, g.Need, n)
	for _, r := range g.Shape.Memberships {
		if l := e.PodTopology.Counts[r.Rule]; l.PerNode() {
			if domain, ok := m.Domain(l.Key); ok {
				g.Shape.Record(l, l.At(domain), r, n)
			}
		}
	}
	for _, p := range pods {
		e.plan.Placements = append(e.plan.Placements, plan.Placement{Pod: p, Node: m.Node})
	}
}

// keepNominated puts pods where an earlier plan counted on a machine for them, if they
// still fit.
func (e *existing) keepNominated() {
	if len(e.Snap.Nominated) == 0 {
		return
	}
	for _, g := range e.Groups {
		set, ok := e.open[g]
		if !ok {
			continue
		}
		f := e.Family(g.Shape)
		var left []*snapshot.Pod
		for unit := range slices.Chunk(g.Pods, g.Bundle) {
			i, ok := e.NominatedTo(unit[0])
			if ok && set.Has(i) && e.Machines.List[i].Load.Room(&f, g.Need, 1) > 0 {
				e.place(g, &f, i, unit)
			} else {
				left = append(left, unit...)
			}
		}
		g.Pods = left
	}
}
