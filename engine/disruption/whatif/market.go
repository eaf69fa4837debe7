package whatif

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// market is what may be launched for a question: less to look through than everything,
// unless that would take domains away from a topology spread of pods that move. What a
// ceiling leaves out of a pool must not go to one of a lower weight instead.
func (w *World) market(q Question, movers []*snapshot.Pod) []*snapshot.Pool {
	if !q.RoomOnly && q.Ceiling == 0 || slices.ContainsFunc(movers, spreads) {
		return w.snap.Pools
	}
	least := int32(math.MaxInt32)
	for _, p := range w.snap.Pools {
		least = min(least, p.Weight)
	}
	out := make([]*snapshot.Pool, len(w.snap.Pools))
	for i, p := range w.snap.Pools {
		trimmed := *p
		switch {
		case q.RoomOnly:
			trimmed.Types = nil
		case p.Weight == least && !p.Requirements.HasMinValues() && w.options.MinTypes <= 1:
			trimmed.Types = w.cheaper(p, q.Ceiling)
		}
		out[i] = &trimmed
	}
	return out
}

// spreads reports whether a pod demands a spread over domains in which new nodes may come to be.
func spreads(p *snapshot.Pod) bool {
	return slices.ContainsFunc(p.Class.Shape.Spread, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey != corev1.LabelHostname && c.WhenUnsatisfiable == corev1.DoNotSchedule
	})
}

func (w *World) cheaper(p *snapshot.Pool, ceiling float64) []*catalog.Type {
	out := make([]*catalog.Type, 0, len(p.Types))
	for _, t := range p.Types {
		if w.Least(p, t) < ceiling {
			out = append(out, t)
		}
	}
	return out
}

// poolType is a type as a pool buys it.
type poolType struct {
	pool string
	kind *catalog.Type
}

// Least is the lowest price at which a pool gets a type now, in $/h; infinite if it
// does not.
func (w *World) Least(p *snapshot.Pool, t *catalog.Type) float64 {
	price, known := w.least[poolType{p.Name, t}]
	if known {
		return price
	}
	price = math.Inf(1)
	zones, capacities := p.Requirements.Get(corev1.LabelTopologyZone), p.Requirements.Get(catalog.CapacityTypeLabel)
	for _, o := range t.Offerings {
		if o.Available && zones.Has(o.Zone) && capacities.Has(o.CapacityType) {
			price = min(price, o.Price)
		}
	}
	w.least[poolType{p.Name, t}] = price
	return price
}
