package placement

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// usePlaces puts pods on machines that exist or are on their way: first where an
// earlier plan counted on a machine, then the largest pods first, each on the
// fullest machine that takes it.
func (w *world) usePlaces(out *plan.Plan) {
	if len(w.Machines.List) == 0 {
		return
	}
	accepting := map[*demand.Shape]bitset.Set{}
	for _, sh := range w.Shapes {
		if len(sh.Refused) == 0 {
			accepting[sh] = w.Machines.Accepting(sh)
		}
	}
	index := w.Machines.ByName()
	refused := w.refused(index)
	open := func(g *demand.Group) bitset.Set {
		set := accepting[g.Shape]
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
func (w *world) refused(index map[string]int) map[*demand.Group][]int {
	out := map[*demand.Group][]int{}
	for _, g := range w.Groups {
		for _, p := range g.Pods {
			i, ok := index[p.Status.NominatedNodeName]
			if ok && p.Spec.NodeName == "" && nomination.Refused(p, w.Machines.List[i].Node, w.Snap.Now) {
				out[g] = append(out[g], i)
			}
		}
	}
	return out
}

// bySize lists the groups, those with the largest need first.
func (w *world) bySize() []*demand.Group {
	largest := make([]int64, len(w.Dims.Names))
	for _, m := range w.Machines.List {
		for i, n := range w.Dims.Have(m.Node.Allocatable()) {
			largest[i] = max(largest[i], n)
		}
	}
	size := make(map[*demand.Group]float64, len(w.Groups))
	for _, g := range w.Groups {
		for i, n := range g.Need {
			size[g] = max(size[g], float64(n)/float64(max(largest[i], 1)))
		}
	}
	out := slices.Clone(w.Groups)
	slices.SortStableFunc(out, func(a, b *demand.Group) int { return cmp.Compare(size[b], size[a]) })
	return out
}

// spread puts as many of a group as possible on machines.
func (w *world) spread(g *demand.Group, accepting bitset.Set, out *plan.Plan) {
	f := w.Family(g.Shape)
	for i := range accepting.All() {
		if len(g.Pods) == 0 {
			return
		}
		m := w.Machines.List[i]
		if n := m.Load.Room(&f, g.Need, g.Units()); n > 0 {
			m.Load.Add(&f, g.Need, n)
			place(g.Take(n), m.Node, out)
		}
	}
}

// honour puts pods where an earlier plan counted on a machine for them, if they
// still fit.
func (w *world) honour(index map[string]int, open func(*demand.Group) bitset.Set, out *plan.Plan) {
	if len(w.Snap.Nominated) == 0 {
		return
	}
	for _, g := range w.Groups {
		set := open(g)
		if set == nil || g.Bundle > 1 {
			continue
		}
		f := w.Family(g.Shape)
		g.Pods = slices.DeleteFunc(g.Pods, func(p *snapshot.Pod) bool {
			i, ok := index[w.Snap.Nominated[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}]]
			return ok && set.Has(i) && try(w.Machines.List[i], &f, g.Need, p, out)
		})
	}
}

// try puts one pod on a machine if it fits.
func try(m *supply.Machine, f *pack.Family, need []int64, p *snapshot.Pod, out *plan.Plan) bool {
	if m.Load.Room(f, need, 1) == 0 {
		return false
	}
	m.Load.Add(f, need, 1)
	place([]*snapshot.Pod{p}, m.Node, out)
	return true
}

func place(pods []*snapshot.Pod, n *snapshot.Node, out *plan.Plan) {
	for _, p := range pods {
		out.Placements = append(out.Placements, plan.Placement{Pod: p, Node: n})
	}
}
