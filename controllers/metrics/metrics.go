package metrics

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "karpenter"

// Build names the binary, for the build_info series.
type Build struct{ Version, Commit string }

// Metrics are the series that loops report to. All methods are safe for
// concurrent use and do nothing on a nil receiver.
type Metrics struct {
	claims     claims
	nodes      nodes
	pods       pods
	scheduler  scheduler
	disruption disruption
	repair     repair
	cloud      cloudCalls
	feeds      feeds
	checkup    checkup
	refused    *prometheus.CounterVec
}

// New makes the series and registers them.
func New(registry prometheus.Registerer, build Build) (*Metrics, error) {
	m := &Metrics{
		claims: newClaims(), nodes: newNodes(), pods: newPods(),
		scheduler: newScheduler(), disruption: newDisruption(), repair: newRepair(), cloud: newCloudCalls(), feeds: newFeeds(), checkup: newCheckup(),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "millwright", Name: "writes_refused_total",
			Help: "Writes that the API server refused, by what was to be done, the kind of the object and the reason.",
		}, []string{"verb", "kind", "reason"}),
	}
	info := gauge("", "build_info", "The binary that runs: always 1.", "version", "goversion", "goarch", "commit")
	info.WithLabelValues(build.Version, runtime.Version(), runtime.GOARCH, build.Commit).Set(1)
	all := []prometheus.Collector{info, m.refused}
	for _, group := range [][]prometheus.Collector{
		m.claims.all(), m.nodes.all(), m.pods.all(), m.scheduler.all(), m.disruption.all(), m.repair.all(), m.cloud.all(), m.feeds.all(), m.checkup.all(),
	} {
		all = append(all, group...)
	}
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return m, nil
}

// WriteRefused counts a write that the API server refused.
func (m *Metrics) WriteRefused(verb, kind, reason string) {
	if m != nil {
		m.refused.WithLabelValues(verb, kind, reason).Inc()
	}
}

// DurationBuckets are the bounds, in seconds, of Karpenter's duration
// histograms; a bound is part of a series' name.
func DurationBuckets() []float64 {
	out := []float64{0.005, 0.01, 0.025, 0.05}
	out = append(out, steps(0.1, 0.05, 8)...) // to 0.45
	out = append(out, steps(0.5, 0.1, 5)...)  // to 0.9
	out = append(out, steps(1, 0.25, 4)...)   // to 1.75
	out = append(out, steps(2, 0.5, 6)...)    // to 4.5
	out = append(out, steps(5, 1, 5)...)      // to 9
	out = append(out, steps(10, 5, 4)...)     // to 25
	out = append(out, steps(30, 10, 3)...)    // to 50
	return append(out, 60, 120, 150, 300, 450, 600)
}

func steps(from, step float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		// Rounded to the written decimals, so that 0.3 prints as 0.3.
		out[i] = math.Round((from+float64(i)*step)*1000) / 1000
	}
	return out
}

// quantiles are those of Karpenter's summaries, each with its permitted error.
func quantiles() map[float64]float64 {
	return map[float64]float64{0: 0.01, 0.5: 0.01, 0.9: 0.01, 0.99: 0.01, 1: 0.01}
}

func counter(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

func gauge(subsystem, name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

func histogram(subsystem, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets}, labels)
}

func summary(subsystem, name, help string, labels ...string) *prometheus.SummaryVec {
	return prometheus.NewSummaryVec(prometheus.SummaryOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Objectives: quantiles(), MaxAge: 10 * time.Minute}, labels)
}
