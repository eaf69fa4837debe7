package placement

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// usePlaces puts pods on machines that exist or are on their way: first where an
// earlier plan counted on a machine, then the largest pods first, each on the
// fullest machine that takes it.
func (w *world) usePlaces(out *plan.Plan) {
	if len(w.machines.list) == 0 {
		return
	}
	accepting := map[*shape]bitset.Set{}
	for _, sh := range w.shapes {
		if len(sh.refused) == 0 {
			accepting[sh] = w.machines.accepting(sh)
		}
	}
	index := w.machines.byName()
	refused := w.refused(index)
	open := func(g *group) bitset.Set {
		set := accepting[g.shape]
		if len(refused[g]) == 0 || set == nil {
			return set
		}
		set = set.Clone()
		for _, i := range refused[g] {
			set.Remove(i)
		}
		return set
	}
	w.honour(index, open, out)
	for _, g := range w.bySize() {
		if set := open(g); set != nil {
			w.spread(g, set, out)
		}
	}
}

// refused are the machines, by group, on which kube-scheduler does not put one
// of the group's pods although it had the time, for a reason that is not known
// here.
func (w *world) refused(index map[string]int) map[*group][]int {
	out := map[*group][]int{}
	for _, g := range w.groups {
		for _, p := range g.pods {
			i, ok := index[p.Status.NominatedNodeName]
			if ok && p.Spec.NodeName == "" && nomination.Refused(p, w.machines.list[i].node, w.snap.Now) {
				out[g] = append(out[g], i)
			}
		}
	}
	return out
}

// byName finds machines by the names of their Nodes and claims.
func (ms *machines) byName() map[string]int {
	out := make(map[string]int, 2*len(ms.list))
	for i, m := range ms.list {
		out[m.node.Name] = i
		if m.node.Claim != nil {
			out[m.node.Claim.Name] = i
		}
	}
	return out
}

// bySize lists the groups, those with the largest need first.
func (w *world) bySize() []*group {
	largest := make([]int64, len(w.dims.names))
	for _, m := range w.machines.list {
		for i, n := range w.dims.have(m.node.Allocatable()) {
			largest[i] = max(largest[i], n)
		}
	}
	size := make(map[*group]float64, len(w.groups))
	for _, g := range w.groups {
		for i, n := range g.need {
			size[g] = max(size[g], float64(n)/float64(max(largest[i], 1)))
		}
	}
	out := slices.Clone(w.groups)
	slices.SortStableFunc(out, func(a, b *group) int { return cmp.Compare(size[b], size[a]) })
	return out
}

// spread puts as many of a group as possible on machines.
func (w *world) spread(g *group, accepting bitset.Set, out *plan.Plan) {
	f := w.family(g.shape)
	for i := range accepting.All() {
		if len(g.pods) == 0 {
			return
		}
		m := w.machines.list[i]
		if n := m.load.Room(&f, g.need, g.units()); n > 0 {
			m.load.Add(&f, g.need, n)
			place(g.take(n), m.node, out)
		}
	}
}

// honour puts pods where an earlier plan counted on a machine for them, if they
// still fit.
func (w *world) honour(index map[string]int, open func(*group) bitset.Set, out *plan.Plan) {
	if len(w.snap.Nominated) == 0 {
		return
	}
	for _, g := range w.groups {
		set := open(g)
		if set == nil || g.bundle > 1 {
			continue
		}
		f := w.family(g.shape)
		g.pods = slices.DeleteFunc(g.pods, func(p *snapshot.Pod) bool {
			i, ok := index[w.snap.Nominated[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]]
			return ok && set.Has(i) && w.machines.list[i].try(&f, g.need, p, out)
		})
	}
}

func (m *machine) try(f *pack.Family, need []int64, p *snapshot.Pod, out *plan.Plan) bool {
	if m.load.Room(f, need, 1) == 0 {
		return false
	}
	m.load.Add(f, need, 1)
	place([]*snapshot.Pod{p}, m.node, out)
	return true
}

func place(pods []*snapshot.Pod, n *snapshot.Node, out *plan.Plan) {
	for _, p := range pods {
		out.Placements = append(out.Placements, plan.Placement{Pod: p, Node: n})
	}
}
