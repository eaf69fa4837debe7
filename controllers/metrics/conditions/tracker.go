package conditions

import (
	"strings"
	"sync"

	"github.com/awslabs/operatorpkg/status"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Tracker is a prometheus.Collector over the objects of one kind. It is safe for
// concurrent use.
type Tracker struct {
	kind
	clock clock.PassiveClock

	count, current, leaving *prometheus.Desc
	transitions             *prometheus.CounterVec
	lasted, left            *prometheus.HistogramVec

	mu   sync.Mutex
	last map[types.UID]client.Object // only read: the cache shares them
}

func newTracker(k kind, clock clock.PassiveClock) *Tracker {
	var extra []string
	for _, key := range k.labels {
		extra = append(extra, strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(key))
	}
	labels := func(own ...string) []string { return append(own, extra...) }
	name := func(series string) string { return "operator_" + k.name + "_" + series }
	buckets := prometheus.ExponentialBuckets(0.5, 2, 15)
	return &Tracker{
		kind: k, clock: clock, last: map[types.UID]client.Object{},
		count: prometheus.NewDesc(name("status_condition_count"), "A condition of an object as it is now: always 1.",
			labels("namespace", "name", "type", "status", "reason"), nil),
		current: prometheus.NewDesc(name("status_condition_current_status_seconds"), "For how long a condition has had its status.",
			labels("namespace", "name", "type", "status", "reason"), nil),
		leaving: prometheus.NewDesc(name("termination_current_time_seconds"), "For how long an object has been going.", labels("namespace", "name"), nil),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name("status_condition_transitions_total"), Help: "Changes of a condition's status, by the new one.",
		}, labels("type", "status", "reason")),
		lasted: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name("status_condition_transition_seconds"), Help: "How long a condition had a status before that changed.", Buckets: buckets,
		}, labels("type", "status")),
		left: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name("termination_duration_seconds"), Help: "How long it took objects to go.", Buckets: buckets,
		}, labels()),
	}
}

// extra are the values of the labels that objects lend to the series.
func (t *Tracker) extra(o client.Object, own ...string) []string {
	for _, key := range t.labels {
		own = append(own, o.GetLabels()[key])
	}
	return own
}

// see takes in what an object is now. Every condition of an object not seen before
// counts as changed.
func (t *Tracker) see(o any) {
	now, ok := o.(client.Object)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	old := map[string]status.Condition{}
	if before := t.last[now.GetUID()]; before != nil {
		for _, c := range t.conditions(before) {
			old[c.Type] = c
		}
	}
	t.last[now.GetUID()] = now
	for _, c := range t.conditions(now) {
		before, known := old[c.Type]
		if known && before.Status == c.Status {
			continue
		}
		t.transitions.WithLabelValues(t.extra(now, c.Type, string(c.Status), c.Reason)...).Inc()
		if known {
			took := c.LastTransitionTime.Sub(before.LastTransitionTime.Time)
			t.lasted.WithLabelValues(t.extra(now, c.Type, string(before.Status))...).Observe(took.Seconds())
		}
	}
}

// forget takes in that an object is gone.
func (t *Tracker) forget(o any) {
	if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = missed.Obj
	}
	gone, ok := o.(client.Object)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, gone.GetUID())
	if since := gone.GetDeletionTimestamp(); since != nil {
		t.left.WithLabelValues(t.extra(gone)...).Observe(t.clock.Since(since.Time).Seconds())
	}
}

// Describe is prometheus.Collector's.
func (t *Tracker) Describe(out chan<- *prometheus.Desc) {
	out <- t.count
	out <- t.current
	out <- t.leaving
	for _, c := range []prometheus.Collector{t.transitions, t.lasted, t.left} {
		c.Describe(out)
	}
}

// Collect is prometheus.Collector's.
func (t *Tracker) Collect(out chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{t.transitions, t.lasted, t.left} {
		c.Collect(out)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	gauge := func(d *prometheus.Desc, value float64, labels []string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, o := range t.last {
		if since := o.GetDeletionTimestamp(); since != nil {
			gauge(t.leaving, t.clock.Since(since.Time).Seconds(), t.extra(o, o.GetNamespace(), o.GetName()))
		}
		for _, c := range t.conditions(o) {
			labels := t.extra(o, o.GetNamespace(), o.GetName(), c.Type, string(c.Status), c.Reason)
			gauge(t.count, 1, labels)
			gauge(t.current, t.clock.Since(c.LastTransitionTime.Time).Seconds(), labels)
		}
	}
}
