package consolidate

import (
	"math"

	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// rates are the least that the market takes for one unit of each resource, in
// $/h. No machine that can be launched holds a need for less.
type rates []float64

// newRates looks at everything that is sold at present.
func newRates(dims *vector.Dims, s []*snapshot.Pool) rates {
	out := make(rates, len(dims.Names))
	for i := range out {
		out[i] = math.Inf(1)
	}
	for _, p := range s {
		if p.NotReady != "" || p.Replicas != nil {
			continue
		}
		for _, t := range p.Types {
			have := dims.Have(t.Allocatable())
			for _, o := range t.Offerings {
				if !o.Available {
					continue
				}
				for i, n := range have {
					if n > 0 {
						out[i] = min(out[i], o.Price/float64(n))
					}
				}
			}
		}
	}
	return out
}

// value is a price below which no new machines hold a need.
func (r rates) value(need []int64) float64 {
	most := 0.0
	for i, n := range need {
		if n > 0 {
			most = max(most, float64(n)*r[i])
		}
	}
	return most
}
