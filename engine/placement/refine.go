package placement

import (
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology/assign"
)

// refine follows some preferences: plan, verify, add cuts, and plan again until the plan keeps
// every constraint. Where that leaves pods that others keep out, it starts once more with those
// first, and the plan that leaves the fewest counts.
func (r *run) refine(followed demand.Followed) *world {
	var best *world
	for cuts := assign.NewCuts(); ; {
		w := newWorld(r.snap, r.opts, r.pods, followed, cuts)
		w.limits = r.limits
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
		first := w.assigner.Blocked()
		if len(first) == 0 {
			return w
		}
		best, cuts = w, assign.NewCuts(first...)
	}
}
