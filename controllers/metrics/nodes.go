package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type nodes struct {
	created, terminated, drained *prometheus.CounterVec
	termination                  *prometheus.SummaryVec
	lifetime                     *prometheus.HistogramVec
}

func newNodes() nodes {
	const s = "nodes"
	hours := []float64{0.25, 0.5, 0.75, 1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 48, 72, 120, 240, 360, 480, 600, 720}
	for i := range hours {
		hours[i] *= time.Hour.Seconds()
	}
	return nodes{
		created:     counter(s, "created_total", "Nodes that registered.", "nodepool"),
		terminated:  counter(s, "terminated_total", "Nodes that were removed.", "nodepool", "zone"),
		drained:     counter(s, "drained_total", "Nodes that were drained.", "nodepool"),
		termination: summary(s, "termination_duration_seconds", "From the deletion of a node to its end.", "nodepool"),
		lifetime:    histogram(s, "lifetime_duration_seconds", "From the creation of a node to its end.", hours, "nodepool"),
	}
}

func (n nodes) all() []prometheus.Collector {
	return []prometheus.Collector{n.created, n.terminated, n.drained, n.termination, n.lifetime}
}

// NodeCreated counts a node that has registered.
func (m *Metrics) NodeCreated(pool string) {
	if m != nil {
		m.nodes.created.WithLabelValues(pool).Inc()
	}
}

// NodeDrained counts a node on which no pod is left to wait for.
func (m *Metrics) NodeDrained(pool string) {
	if m != nil {
		m.nodes.drained.WithLabelValues(pool).Inc()
	}
}

// NodeTerminated counts a node that is gone, how long that took, and how long
// the node lived.
func (m *Metrics) NodeTerminated(pool, zone string, took, lived time.Duration) {
	if m != nil {
		m.nodes.terminated.WithLabelValues(pool, zone).Inc()
		m.nodes.termination.WithLabelValues(pool).Observe(took.Seconds())
		m.nodes.lifetime.WithLabelValues(pool).Observe(lived.Seconds())
	}
}
