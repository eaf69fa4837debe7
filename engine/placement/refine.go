package placement

import (
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/topology/assign"
)

// refine follows some preferences: plan, verify, add cuts, and plan again until the plan keeps
// every constraint. Where that leaves pods that others keep out, it starts once more with those
// first. Of the plans that keep every constraint the one that leaves the fewest counts.
func (r *run) refine(followed demand.Followed) *world {
	var best *world
	last, sound := false, false
	for cuts := assign.NewCuts(); ; {
		w := newWorld(r.snap, r.opts, r.pods, followed, cuts)
		w.limits = r.limits
		w.solve()
		kept, again := w.assigner.Cut(&w.plan, w.chosen)
		if best == nil || kept && (!sound || len(w.plan.Unplaced) < len(best.plan.Unplaced)) {
			best, sound = w, kept
		}
		if again {
			continue
		}
		first := w.assigner.Blocked()
		if last || len(first) == 0 {
			return best
		}
		last, cuts = true, assign.NewCuts(first...)
	}
}
