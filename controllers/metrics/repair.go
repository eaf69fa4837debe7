package metrics

import "github.com/prometheus/client_golang/prometheus"

type repair struct {
	disrupted *prometheus.CounterVec
	unhealthy *prometheus.GaugeVec
}

func newRepair() repair {
	return repair{
		disrupted: counter("nodeclaims", "unhealthy_disrupted_total", "Claims deleted because their machine was unhealthy.",
			"condition", "nodepool", "capacity_type", "image_id"),
		unhealthy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millwright_unhealthy_nodes", Help: "Machines that something is wrong with, by what is done about it.",
		}, []string{"nodepool", "condition", "reason"}),
	}
}

func (r repair) all() []prometheus.Collector { return []prometheus.Collector{r.disrupted, r.unhealthy} }

// Unwell labels machines that something is wrong with.
type Unwell struct {
	Pool string
	// Condition is the Node's, or DaemonSet and its name; Reason what is done about it.
	Condition, Reason string
}

// UnhealthyDisrupted counts a claim that was deleted because its machine was
// unhealthy.
func (m *Metrics) UnhealthyDisrupted(u Unwell, capacityType, imageID string) {
	if m != nil {
		m.repair.disrupted.WithLabelValues(u.Condition, u.Pool, capacityType, imageID).Inc()
	}
}

// Unhealthy sets how many machines there are of each kind.
func (m *Metrics) Unhealthy(count map[Unwell]int) {
	if m == nil {
		return
	}
	m.repair.unhealthy.Reset()
	for u, n := range count {
		m.repair.unhealthy.WithLabelValues(u.Pool, u.Condition, u.Reason).Set(float64(n))
	}
}
