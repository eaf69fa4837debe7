package placement

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology/assign"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// refine follows some preferences: plan, verify, add cuts, and plan again until the plan keeps
// every constraint. Where that leaves pods that others keep out, it starts once more with those
// first, and the plan that leaves the fewest counts.
func (r *run) refine(followed demand.Followed) *world {
	var best *world
	for cuts := assign.NewCuts(); ; {
		w := newWorld(r.snap, r.opts, r.pods, followed, cuts)
		w.solve()
		if w.assigner.Cut(&w.plan, w.chosen) {
			continue
		}
		if best != nil {
			if len(w.plan.Unplaced) < len(best.plan.Unplaced) {
				best = w
			}
			return best
		}
		first := w.assigner.Blocked(w.keptOut())
		if len(first) == 0 {
			return w
		}
		best, cuts = w, assign.NewCuts(first...)
	}
}

// keptOut are the groups that were left for no other reason than inter-pod
// constraints.
func (w *world) keptOut() []*demand.Group {
	var out []*demand.Group
	for _, g := range w.Groups {
		if len(g.Pods) > 0 && w.onlyKeptOut(g, g.Pods[0]) {
			out = append(out, g)
		}
	}
	return out
}

func (w *world) onlyKeptOut(g *demand.Group, pod *snapshot.Pod) bool {
	sh := w.ShapeOf(pod)
	return slices.ContainsFunc(sh.Memberships, func(x demand.Membership) bool { return w.PodTopology.Wanted[x.Rule] }) &&
		!slices.ContainsFunc(g.Shape.Refused, func(r plan.Reason) bool { return r.Code != plan.TopologyNotSatisfiable }) &&
		!slices.ContainsFunc(sh.Memberships, func(x demand.Membership) bool { return w.PodTopology.Counts[x.Rule].OfClaim() }) &&
		(w.Offerings.Sells(sh.Node, w.NeedOf(pod.Class)) || w.Holds(sh.Node, w.NeedOf(pod.Class)))
}
