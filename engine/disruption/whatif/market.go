package whatif

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// unstocked are the pools with nothing to sell, unless that would take domains away from a
// topology spread of pods that move.
func (w *World) unstocked(movers []*snapshot.Pod) []*snapshot.Pool {
	if slices.ContainsFunc(movers, spreads) {
		return w.snap.Pools
	}
	out := make([]*snapshot.Pool, len(w.snap.Pools))
	for i, p := range w.snap.Pools {
		empty := *p
		empty.Types = nil
		out[i] = &empty
	}
	return out
}

// spreads reports whether a pod demands a spread over domains in which new nodes may come to be.
func spreads(p *snapshot.Pod) bool {
	return slices.ContainsFunc(p.Class.Shape.Spread, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey != corev1.LabelHostname && c.WhenUnsatisfiable == corev1.DoNotSchedule
	})
}
