package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type disruption struct {
	evaluation                                  *prometheus.HistogramVec
	decisions, byPool, failedValidations, queue *prometheus.CounterVec
	eligible, cost, verdicts                    *prometheus.GaugeVec
	costsWritten                                *prometheus.CounterVec
	costsPending                                *prometheus.GaugeVec
}

func newDisruption() disruption {
	const s, costs = "voluntary_disruption", "pod_deletion_cost"
	return disruption{
		evaluation: histogram(s, "decision_evaluation_duration_seconds", "Time to decide about every machine once.",
			DurationBuckets(), "reason", "consolidation_type"),
		decisions: counter(s, "decisions_total", "Commands begun.", "decision", "reason", "consolidation_type"),
		byPool:    counter(s, "decisions_by_nodepool_total", "Commands begun, by pool.", "decision", "reason", "consolidation_type", "nodepool"),
		failedValidations: counter(s, "failed_validations_total", "Commands that were called off because the cluster had changed.",
			"consolidation_type"),
		queue:    counter(s, "queue_failures_total", "Commands that could not be carried out.", "decision", "reason", "consolidation_type"),
		eligible: gauge(s, "eligible_nodes", "Machines that qualify for a disruption, budgets aside.", "reason"),
		cost:     gauge("nodepools", "cost_total", "Price of a pool's machines in $/h, as far as it is known.", "nodepool"),
		verdicts: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "millwright", Subsystem: "disruption", Name: "verdicts",
			Help: "Machines by the one reason for which each stays, or goes."}, []string{"nodepool", "reason"}),
		costsWritten: counter(costs, "pod_annotation_writes_total", "Deletion costs written on pods, by what came of it.", "result"),
		costsPending: gauge(costs, "nodes_with_pending_annotation_writes", "Nodes with pods whose deletion cost is to be another.", "nodepool"),
	}
}

func (d disruption) all() []prometheus.Collector {
	return []prometheus.Collector{d.evaluation, d.decisions, d.byPool, d.failedValidations, d.queue, d.eligible, d.cost, d.verdicts,
		d.costsWritten, d.costsPending}
}

// Command labels a voluntary disruption.
type Command struct {
	// Decision is delete or replace; Reason is one of the constants of this
	// package; ConsolidationType is empty, single, multi or "".
	Decision, Reason, ConsolidationType string
	Pool                                string
}

// Evaluated records how long a decision took and what it found.
func (m *Metrics) Evaluated(reason, consolidationType string, took time.Duration, eligible int) {
	if m != nil {
		m.disruption.evaluation.WithLabelValues(reason, consolidationType).Observe(took.Seconds())
		m.disruption.eligible.WithLabelValues(reason).Set(float64(eligible))
	}
}

// CommandBegun counts a command.
func (m *Metrics) CommandBegun(c Command) {
	if m != nil {
		m.disruption.decisions.WithLabelValues(c.Decision, c.Reason, c.ConsolidationType).Inc()
		m.disruption.byPool.WithLabelValues(c.Decision, c.Reason, c.ConsolidationType, c.Pool).Inc()
	}
}

// CommandCalledOff counts a command that the live state of the cluster refuted.
func (m *Metrics) CommandCalledOff(c Command) {
	if m != nil {
		m.disruption.failedValidations.WithLabelValues(c.ConsolidationType).Inc()
	}
}

// CommandFailed counts a command that could not be carried out.
func (m *Metrics) CommandFailed(c Command) {
	if m != nil {
		m.disruption.queue.WithLabelValues(c.Decision, c.Reason, c.ConsolidationType).Inc()
	}
}

// PoolsCost sets the price of every pool's machines, in $/h.
func (m *Metrics) PoolsCost(byPool map[string]float64) {
	if m == nil {
		return
	}
	m.disruption.cost.Reset()
	for pool, cost := range byPool {
		m.disruption.cost.WithLabelValues(pool).Set(cost)
	}
}

// Verdict is a reason for which machines of a pool stay, or go.
type Verdict struct{ Pool, Reason string }

// Verdicts sets how many machines there are with each verdict.
func (m *Metrics) Verdicts(machines map[Verdict]int) {
	if m == nil {
		return
	}
	m.disruption.verdicts.Reset()
	for v, n := range machines {
		m.disruption.verdicts.WithLabelValues(v.Pool, v.Reason).Set(float64(n))
	}
}

// Results of writing a deletion cost, in Karpenter's words.
const (
	CostUpdated  = "updated"
	CostNotFound = "skipped_notfound"
	CostConflict = "skipped_conflict"
	CostError    = "error"
)

// DeletionCostWritten counts the deletion cost of one pod.
func (m *Metrics) DeletionCostWritten(result string) {
	if m != nil {
		m.disruption.costsWritten.WithLabelValues(result).Inc()
	}
}

// DeletionCostsPending sets how many nodes of each pool have pods whose cost is to be another.
func (m *Metrics) DeletionCostsPending(byPool map[string]int) {
	if m == nil {
		return
	}
	m.disruption.costsPending.Reset()
	for pool, n := range byPool {
		m.disruption.costsPending.WithLabelValues(pool).Set(float64(n))
	}
}
