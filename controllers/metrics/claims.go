package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons of created and disrupted claims.
const (
	Provisioned          = "provisioned"
	Empty                = "empty"
	Drifted              = "drifted"
	Underutilized        = "underutilized"
	Expired              = "expired"
	Unhealthy            = "unhealthy"
	GarbageCollected     = "garbage_collected"
	InsufficientCapacity = "insufficient_capacity"
	NodeClassNotReady    = "nodeclass_not_ready"
	LaunchTimeout        = "launch_timeout"
	RegistrationTimeout  = "registration_timeout"
)

// Disruption says which claim was disrupted and why. The labels are those of
// nodeclaims_disrupted_total.
type Disruption struct {
	// Reason is one of the constants of this package, or a word of Announced.
	Reason string
	// Pool, CapacityType and ConsolidationPolicy are the claim's and its pool's.
	Pool, CapacityType, ConsolidationPolicy string
	// GracePeriod is the claim's terminationGracePeriod, nil if it has none.
	GracePeriod *time.Duration
	// Pods is how many pods have to move.
	Pods int
}

// mode is Karpenter's termination_mode: it follows from the grace period alone.
func (d Disruption) mode() string {
	switch {
	case d.GracePeriod == nil:
		return "graceful"
	case *d.GracePeriod <= 0:
		return "forceful"
	}
	return "eventual"
}

type claims struct {
	created, terminated, disrupted, podsDisrupted *prometheus.CounterVec
	instanceTermination, termination              *prometheus.HistogramVec
}

func newClaims() claims {
	const s = "nodeclaims"
	labels := []string{"reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"}
	return claims{
		created:       counter(s, "created_total", "Claims created.", "reason", "nodepool", "min_values_relaxed"),
		terminated:    counter(s, "terminated_total", "Claims whose machine is gone.", "nodepool", "capacity_type", "zone"),
		disrupted:     counter(s, "disrupted_total", "Claims deleted by the controller.", labels...),
		podsDisrupted: counter("pods", "disruption_initiated_total", "Pods on the machines of claims deleted by the controller.", labels...),
		instanceTermination: histogram(s, "instance_termination_duration_seconds", "From the request to terminate an instance to its end.",
			prometheus.ExponentialBuckets(1, 2, 11), "nodepool"),
		termination: histogram(s, "termination_duration_seconds", "From the deletion of a claim to its end.",
			prometheus.ExponentialBuckets(1, 2, 12), "nodepool"),
	}
}

func (c claims) all() []prometheus.Collector {
	return []prometheus.Collector{c.created, c.terminated, c.disrupted, c.podsDisrupted, c.instanceTermination, c.termination}
}

// ClaimCreated counts a new claim.
func (m *Metrics) ClaimCreated(reason, pool string, minValuesRelaxed bool) {
	if m != nil {
		m.claims.created.WithLabelValues(reason, pool, strconv.FormatBool(minValuesRelaxed)).Inc()
	}
}

// ClaimTerminated counts a claim that is gone and how long that took.
func (m *Metrics) ClaimTerminated(pool, capacityType, zone string, took time.Duration) {
	if m != nil {
		m.claims.terminated.WithLabelValues(pool, capacityType, zone).Inc()
		m.claims.termination.WithLabelValues(pool).Observe(took.Seconds())
	}
}

// ClaimDisrupted counts a claim that the controller deletes.
func (m *Metrics) ClaimDisrupted(d Disruption) {
	if m != nil {
		labels := []string{d.Reason, d.Pool, d.CapacityType, d.ConsolidationPolicy, d.mode()}
		m.claims.disrupted.WithLabelValues(labels...).Inc()
		m.claims.podsDisrupted.WithLabelValues(labels...).Add(float64(d.Pods))
	}
}

// InstanceTerminated records how long a cloud took to end an instance.
func (m *Metrics) InstanceTerminated(pool string, took time.Duration) {
	if m != nil {
		m.claims.instanceTermination.WithLabelValues(pool).Observe(took.Seconds())
	}
}
