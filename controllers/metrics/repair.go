package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type repair struct {
	disrupted *prometheus.CounterVec
	unhealthy *prometheus.GaugeVec
	reboots   *prometheus.CounterVec
	reboot    *prometheus.HistogramVec
	recovery  *prometheus.HistogramVec
}

func newRepair() repair {
	seconds := prometheus.ExponentialBuckets(10, 2, 8) // as in Karpenter
	return repair{
		reboots:  counter("nodes", "reboots_total", "Reboots of machines for their repair that have ended.", "result"),
		reboot:   histogram("nodes", "reboot_duration_seconds", "From the request for a reboot to its end.", seconds, "result"),
		recovery: histogram("nodes", "reboot_recovery_duration_seconds", "From when the cloud was told to reboot a machine until its Node was Ready.", seconds),
		disrupted: counter("nodeclaims", "unhealthy_disrupted_total", "Claims deleted because their machine was unhealthy.",
			"condition", "nodepool", "capacity_type", "image_id"),
		unhealthy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millwright_unhealthy_nodes", Help: "Machines that something is wrong with, by what is done about it.",
		}, []string{"nodepool", "condition", "reason"}),
	}
}

func (r repair) all() []prometheus.Collector {
	return []prometheus.Collector{r.disrupted, r.unhealthy, r.reboots, r.reboot, r.recovery}
}

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

// RebootResult is how a reboot has ended, in Karpenter's words.
type RebootResult string

// The results.
const (
	RebootSucceeded       RebootResult = "succeeded"
	RebootProviderError   RebootResult = "provider_error"
	RebootRecoveryTimeout RebootResult = "recovery_timeout"
)

// Rebooted counts a reboot that has ended, how long after its request, and, if it succeeded, how long
// after the cloud was told.
func (m *Metrics) Rebooted(r RebootResult, took, recovered time.Duration) {
	if m == nil {
		return
	}
	m.repair.reboots.WithLabelValues(string(r)).Inc()
	m.repair.reboot.WithLabelValues(string(r)).Observe(took.Seconds())
	if r == RebootSucceeded {
		m.repair.recovery.WithLabelValues().Observe(recovered.Seconds())
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
