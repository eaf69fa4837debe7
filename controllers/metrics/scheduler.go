package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type scheduler struct {
	duration                                    *prometheus.HistogramVec
	depth, unfinished, ignored, unplaced, zones *prometheus.GaugeVec
}

func newScheduler() scheduler {
	const s = "scheduler"
	return scheduler{
		duration:   histogram(s, "scheduling_duration_seconds", "Time to plan one batch of pods.", DurationBuckets(), "controller"),
		depth:      gauge(s, "queue_depth", "Pods in the batch that is being planned.", "controller", "scheduling_id"),
		unfinished: gauge(s, "unfinished_work_seconds", "For how long the present batch is being planned.", "controller", "scheduling_id"),
		ignored:    gauge(s, "ignored_pods_count", "Pending pods whose constraints cannot be understood."),
		unplaced:   gauge(s, "unschedulable_pods_count", "Pending pods for which there is no machine.", "controller"),
		zones:      gauge(s, "pending_pods_by_effective_zone_count", "Pending pods by the zone they are bound to.", "controller", "zone"),
	}
}

func (s scheduler) all() []prometheus.Collector {
	return []prometheus.Collector{s.duration, s.depth, s.unfinished, s.ignored, s.unplaced, s.zones}
}

// Batch is what came of planning one batch of pods.
type Batch struct {
	Took              time.Duration
	Ignored, Unplaced int
	// Zones counts the pending pods by the zone that they are bound to, "flexible"
	// if there are several, "none" if they name none.
	Zones map[string]int
}

// NothingPending clears what the last batch has left.
func (m *Metrics) NothingPending(controller string) {
	if m == nil {
		return
	}
	m.scheduler.ignored.WithLabelValues().Set(0)
	m.scheduler.unplaced.WithLabelValues(controller).Set(0)
	m.scheduler.zones.Reset()
}

// BatchStarted marks the beginning of a batch.
func (m *Metrics) BatchStarted(controller, id string, pods int) {
	if m != nil {
		m.scheduler.depth.WithLabelValues(controller, id).Set(float64(pods))
		m.scheduler.unfinished.WithLabelValues(controller, id).Set(0)
	}
}

// BatchDone marks the end of a batch.
func (m *Metrics) BatchDone(controller, id string, b Batch) {
	if m == nil {
		return
	}
	m.scheduler.depth.DeleteLabelValues(controller, id)
	m.scheduler.unfinished.DeleteLabelValues(controller, id)
	m.scheduler.duration.WithLabelValues(controller).Observe(b.Took.Seconds())
	m.scheduler.ignored.WithLabelValues().Set(float64(b.Ignored))
	m.scheduler.unplaced.WithLabelValues(controller).Set(float64(b.Unplaced))
	m.scheduler.zones.Reset()
	for zone, n := range b.Zones {
		m.scheduler.zones.WithLabelValues(controller, zone).Set(float64(n))
	}
}
