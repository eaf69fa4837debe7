package consolidate

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// rates are ways to price resources, each in $/h for one unit of each of them, in
// which no machine that is sold holds more than it costs. So in none of them are
// pods worth more than the machines that hold them.
type rates [][]float64

// mixes is how many ways there are to divide a price between CPU and memory.
const mixes = 8

// offer is a type that is sold.
type offer struct {
	price float64
	have  []int64
}

// newRates finds ways to price resources: one way for each resource
// by itself, and some for CPU and memory together.
func newRates(dims *vector.Dims, list []offer) rates {
	var out rates
	for i := range dims.Names {
		alone := make([]float64, len(dims.Names))
		alone[i] = 1
		out = append(out, scaled(alone, list))
	}
	cpu, hasCPU := dims.Index[corev1.ResourceCPU]
	memory, hasMemory := dims.Index[corev1.ResourceMemory]
	if !hasCPU || !hasMemory || math.IsInf(out[cpu][cpu]+out[memory][memory], 0) {
		return out
	}
	for k := 1; k < mixes; k++ {
		mix := make([]float64, len(dims.Names))
		part := float64(k) / mixes
		mix[cpu], mix[memory] = part*out[cpu][cpu], (1-part)*out[memory][memory]
		out = append(out, scaled(mix, list))
	}
	return out
}

// newOffers lists the types that are sold to those of the pools that launch.
func newOffers(dims *vector.Dims, pools []*snapshot.Pool) []offer {
	var out []offer
	for _, p := range pools {
		if p.NotReady != "" || p.Replicas != nil {
			continue
		}
		for _, t := range p.Types {
			out = append(out, offer{least(p, t), dims.Have(t.Allocatable())})
		}
	}
	return out
}

// least is the lowest price at which a pool gets a type now, in $/h; infinite if it does not.
func least(p *snapshot.Pool, t *catalog.Type) float64 {
	price := math.Inf(1)
	if !p.Permits(t) {
		return price
	}
	zones, capacities := p.Requirements.Get(corev1.LabelTopologyZone), p.Requirements.Get(catalog.CapacityTypeLabel)
	for _, o := range t.Offerings {
		if o.Available && zones.Has(o.Zone) && capacities.Has(o.CapacityType) {
			price = min(price, o.Price)
		}
	}
	return price
}

// scaled makes rates as high as no offer forbids; infinite if none has anything of
// what they price.
func scaled(r []float64, list []offer) []float64 {
	scale := math.Inf(1)
	for _, w := range list {
		if worth := value(r, w.have); worth > 0 {
			scale = min(scale, w.price/worth)
		}
	}
	for i := range r {
		if r[i] > 0 {
			r[i] *= scale
		}
	}
	return r
}

func value(r []float64, amounts []int64) float64 {
	sum := 0.0
	for i, n := range amounts {
		if n > 0 {
			sum += float64(n) * r[i]
		}
	}
	return sum
}

// value is a price below which no new machines hold a need.
func (r rates) value(need []int64) float64 {
	most := 0.0
	for _, one := range r {
		most = max(most, value(one, need))
	}
	return most
}

// excludedAbove is by how much the replacement of a full machine must be better than the least
// that is worth it for others' pods to keep off the machine. Less leaves pods where they
// are for longer and has more of them move only once; more saves sooner.
const excludedAbove = 1.5

// excludeTargets closes the candidates that would be well worth replacing even if they were full of
// pods like their own, as their pool buys machines now: pods that went there would soon
// move again.
func (s *search) excludeTargets() {
	byPool := map[string]rates{}
	for _, p := range s.World.Pools() {
		if s.Terms[p.Name].Closed.Code == "" {
			byPool[p.Name] = newRates(s.prefilter.dims, newOffers(s.prefilter.dims, []*snapshot.Pool{p}))
		}
	}
	for _, c := range s.Candidates {
		p, r := s.prefilter.at[c.Node.Name], byPool[c.Node.Pool()]
		if r == nil || p.full <= 0 {
			continue
		}
		saving := c.Price - r.value(s.prefilter.filled(p))
		t := s.Terms[c.Node.Pool()]
		share := t.MinSaving
		if c.Node.Labels()[catalog.CapacityTypeLabel] == catalog.Spot {
			share = max(share, t.MinSpotSaving)
		}
		h := t.disruption(true, 1+(c.Cost-1)/p.full)
		if saving >= excludedAbove*h.dollars && saving > excludedAbove*share*c.Price {
			p.closed = true
		}
	}
	s.World.Close(func(n *snapshot.Node) bool { return s.prefilter.at[n.Name].closed })
}
