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
func (r *run) refine(followed demand.Followed) *refined {
	var best *refined
	for cuts := assign.NewCuts(); ; {
		w := newWorld(r.snap, r.opts, r.pods, followed, cuts)
		s := &refined{world: w, plan: w.solve()}
		if w.assigner.Cut(s.plan, w.chosen) {
			continue
		}
		if best != nil {
			if len(s.plan.Unplaced) < len(best.plan.Unplaced) {
				best = s
			}
			return best
		}
		first := w.assigner.Blocked(s.keptOut())
		if len(first) == 0 {
			return s
		}
		best, cuts = s, assign.NewCuts(first...)
	}
}

// keptOut are the groups that were left for no other reason than inter-pod
// constraints.
func (s *refined) keptOut() []*demand.Group {
	var out []*demand.Group
	for _, g := range s.Groups {
		if len(g.Pods) > 0 && s.onlyKeptOut(g, g.Pods[0]) {
			out = append(out, g)
		}
	}
	return out
}

func (s *refined) onlyKeptOut(g *demand.Group, pod *snapshot.Pod) bool {
	sh := s.ShapeOf(pod)
	return slices.ContainsFunc(sh.Memberships, func(x demand.Membership) bool { return s.PodTopology.Wanted[x.Rule] }) &&
		!slices.ContainsFunc(g.Shape.Refused, func(r plan.Reason) bool { return r.Code != plan.TopologyNotSatisfiable }) &&
		!slices.ContainsFunc(sh.Memberships, func(x demand.Membership) bool { return s.PodTopology.Counts[x.Rule].OfClaim() }) &&
		(s.Offerings.Sells(sh.Node, s.NeedOf(pod.Class)) || s.Holds(sh.Node, s.NeedOf(pod.Class)))
}
