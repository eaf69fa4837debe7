package placement

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// ranked plans so that no pod goes without a place for the sake of pods of a lower
// priority. All pods are planned together at first, which is cheapest. Only where
// that leaves a pod while lower ones have a place, and it would have one without
// them, they come after: into what is left once the others are placed.
func (r *run) ranked() *plan.Plan {
	best := r.best()
	for _, priority := range best.inverted() {
		upper, lower := partition(r.pods, func(p *snapshot.Pod) bool { return p.Class.Priority >= priority })
		left, _ := partition(best.plan.Unplaced, func(u plan.Unplaced) bool { return u.Pod.Class.Priority >= priority })
		first := (&run{snap: r.snap, opts: r.opts, pods: upper}).ranked()
		if len(first.Unplaced) < len(left) {
			return r.after(first, lower)
		}
	}
	return best.finish()
}

// after is a plan with further pods, which get what is left once it has come true.
func (r *run) after(first *plan.Plan, pods []*snapshot.Pod) *plan.Plan {
	done, made := carriedOut(r.snap, first)
	second := &run{snap: done, opts: r.opts, pods: pods}
	second.opts.Ledger = r.opts.Ledger.With(first.NewNodes)
	return join(first, second.ranked(), r.snap, made)
}

// partition divides a list into what is so and what is not, in their order.
func partition[T any](list []T, is func(T) bool) (yes, no []T) {
	for _, x := range list {
		if is(x) {
			yes = append(yes, x)
		} else {
			no = append(no, x)
		}
	}
	return yes, no
}

// inverted are the priorities, the highest first, of pods that have no place though
// pods of a lower priority have one, and for which there are machines.
func (w *world) inverted() []int32 {
	lowest := w.lowestPlaced()
	var out []int32
	for _, g := range w.Groups {
		for _, p := range g.Pods {
			if p.Class.Priority > lowest && !slices.Contains(out, p.Class.Priority) && w.placeableAlone(g) {
				out = append(out, p.Class.Priority)
			}
		}
	}
	slices.SortFunc(out, func(a, b int32) int { return cmp.Compare(b, a) })
	return out
}

// lowestPlaced is the lowest priority of pods that have a place.
func (w *world) lowestPlaced() int32 {
	lowest := int32(math.MaxInt32)
	for _, x := range w.plan.Placements {
		lowest = min(lowest, x.Pod.Class.Priority)
	}
	for i := range w.plan.NewNodes {
		for _, p := range w.plan.NewNodes[i].Pods {
			lowest = min(lowest, p.Class.Priority)
		}
	}
	return lowest
}

// placeableAlone reports whether some machine, empty and without regard to limits, would
// take a pod of the group.
func (w *world) placeableAlone(g *demand.Group) bool {
	n := g.Shape.Node
	return len(g.Shape.Refused) == 0 && (w.Offerings.TakesOnSome(w.Offerings.Accepting(n), g.Need) || w.Holds(n, g.Need))
}

// join puts the plan for the lower priorities behind that for the higher ones.
// Pods that it puts on machines of the first become theirs: made are those, s is the
// cluster that the first was made for.
func join(first, second *plan.Plan, s *snapshot.Snapshot, made []*snapshot.Node) *plan.Plan {
	out := *first
	out.NewNodes = slices.Concat(first.NewNodes, second.NewNodes)
	out.Unplaced = slices.Concat(first.Unplaced, second.Unplaced)
	out.Relaxed = slices.Concat(first.Relaxed, second.Relaxed)
	out.Placements = slices.Clone(first.Placements)
	for _, x := range second.Placements {
		if i := slices.Index(made, x.Node); i >= 0 {
			n := &out.NewNodes[i] // has room for it whatever it becomes
			n.Pods = append(n.Pods, x.Pod)
			slices.SortFunc(n.Pods, snapshot.ComparePods)
			n.Requests = maps.Clone(n.Requests)
			x.Pod.Class.Requests.AddTo(n.Requests)
			continue
		}
		// The copy of a machine stands for the machine itself.
		out.Placements = append(out.Placements, plan.Placement{Pod: x.Pod, Node: s.Node(x.Node.Name)})
	}
	// Either is a bound by itself: pods of the second may be on machines of the first.
	out.LowerBound = max(first.LowerBound, second.LowerBound)
	out.Stats.Classes += second.Stats.Classes
	sortPlan(&out)
	return &out
}
