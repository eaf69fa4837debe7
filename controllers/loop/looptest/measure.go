package looptest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/controllers/metrics"
)

// Measure lets the loops count from now on, and returns what sums up the series of a counter.
func (r *Rig) Measure() func(counter string) float64 {
	r.t.Helper()
	registry := prometheus.NewRegistry()
	var err error
	r.Metrics, err = metrics.New(registry, metrics.Build{})
	r.Must(err)
	return func(counter string) (sum float64) {
		r.t.Helper()
		families, err := registry.Gather()
		r.Must(err)
		for _, f := range families {
			if f.GetName() != counter {
				continue
			}
			for _, series := range f.GetMetric() {
				sum += series.GetCounter().GetValue()
			}
		}
		return sum
	}
}
