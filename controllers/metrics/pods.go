package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type pods struct {
	evictions, drained *prometheus.CounterVec
	startup            *prometheus.SummaryVec
	bound, decided     *prometheus.HistogramVec
}

func newPods() pods {
	const s = "pods"
	return pods{
		evictions: counter(s, "eviction_requests_total", "Answers to requests to evict a pod.", "code"),
		drained:   counter(s, "drained_total", "Pods evicted from nodes that are removed.", "reason"),
		startup:   summary(s, "startup_duration_seconds", "From the creation of a pod until it is ready."),
		bound:     histogram(s, "bound_duration_seconds", "From the creation of a pod until it has a node.", DurationBuckets()),
		decided: histogram(s, "scheduling_decision_duration_seconds",
			"From the first sight of a pending pod until it was decided where it will run.", DurationBuckets()),
	}
}

func (p pods) all() []prometheus.Collector {
	return []prometheus.Collector{p.evictions, p.drained, p.startup, p.bound, p.decided}
}

// EvictionAnswered counts an eviction request by the API server's HTTP status.
func (m *Metrics) EvictionAnswered(code string) {
	if m != nil {
		m.pods.evictions.WithLabelValues(code).Inc()
	}
}

// PodDrained counts an evicted pod by the reason for which its node goes.
func (m *Metrics) PodDrained(reason string) {
	if m != nil {
		m.pods.drained.WithLabelValues(reason).Inc()
	}
}

// PodBound records how long a pod waited for its node.
func (m *Metrics) PodBound(waited time.Duration) {
	if m != nil {
		m.pods.bound.WithLabelValues().Observe(waited.Seconds())
	}
}

// PodStarted records how long it took until a pod was ready.
func (m *Metrics) PodStarted(took time.Duration) {
	if m != nil {
		m.pods.startup.WithLabelValues().Observe(took.Seconds())
	}
}

// PodDecided records how long a pending pod waited for a decision.
func (m *Metrics) PodDecided(waited time.Duration) {
	if m != nil {
		m.pods.decided.WithLabelValues().Observe(waited.Seconds())
	}
}
