package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// announced are Karpenter's words for what a cloud announces.
var announced = map[interruption.Kind]string{
	interruption.Spot:             "spot_interrupted",
	interruption.Rebalance:        "rebalance_recommendation",
	interruption.Maintenance:      "scheduled_change",
	interruption.Reservation:      "capacity_reservation_interrupted",
	interruption.Stopped:          "instance_stopped",
	interruption.Terminated:       "instance_terminated",
	interruption.InstanceImpaired: "instance_status",
	interruption.SystemImpaired:   "system_status",
	interruption.VolumeImpaired:   "volume_status",
	interruption.ZoneImpaired:     "zone_impaired",
	interruption.ServiceIssue:     "service_issue",
}

// Announced is the word for a kind of announcement: a message_type, and the
// Reason of a Disruption that answers it.
func Announced(kind interruption.Kind) string { return announced[kind] }

// noOp is Karpenter's word for messages from which nothing follows.
const noOp = "no_op"

// feeds are the series of what brings announcements.
type feeds struct {
	received *prometheus.CounterVec
	deleted  *prometheus.CounterVec
	duration *prometheus.HistogramVec
	taken    *prometheus.CounterVec
	age      *prometheus.GaugeVec
	errors   *prometheus.CounterVec
}

func newFeeds() feeds {
	const s = "interruption"
	own := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "millwright", Subsystem: s, Name: name, Help: help}, labels)
	}
	return feeds{
		received: counter(s, "received_messages_total", "Messages received from the queue of interruptions.", "message_type"),
		deleted:  counter(s, "deleted_messages_total", "Messages that the queue of interruptions need not deliver again."),
		duration: histogram(s, "message_queue_duration_seconds", "Time from sending a message to its being on record.", DurationBuckets()),
		taken:    own("messages_total", "Messages of the queue by what became of them and, of those that are refused, why.", "outcome", "reason"),
		age: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "millwright", Subsystem: s, Name: "queue_age_seconds",
			Help: "Age of the oldest message in the latest batch from the queue, 0 if there was none."}, nil),
		errors: own("feed_errors_total", "Failures to receive, settle or record messages, and to list or confirm announcements.", "operation"),
	}
}

func (f feeds) all() []prometheus.Collector {
	return []prometheus.Collector{f.received, f.deleted, f.duration, f.taken, f.age, f.errors}
}

// QueueRead notes a batch of messages, which may be empty.
func (m *Metrics) QueueRead(now time.Time, batch []cloud.Message) {
	if m == nil {
		return
	}
	oldest := time.Duration(0)
	for i := range batch {
		if m := &batch[i]; !m.Sent.IsZero() && !m.RefusedBefore() {
			oldest = max(oldest, now.Sub(m.Sent))
		}
	}
	m.feeds.age.WithLabelValues().Set(oldest.Seconds())
}

// MessageTaken counts a message that has its outcome. One that does not count is counted once,
// however often the queue delivers it.
func (m *Metrics) MessageTaken(message *cloud.Message, now time.Time) {
	if m == nil || message.RefusedBefore() {
		return
	}
	word := noOp
	if len(message.Events) > 0 {
		word = Announced(message.Events[0].Kind)
	}
	m.feeds.received.WithLabelValues(word).Inc()
	m.feeds.taken.WithLabelValues(string(message.Outcome), message.Refusal).Inc()
	if message.Outcome != cloud.Later && message.Outcome != cloud.Refused {
		m.feeds.deleted.WithLabelValues().Inc()
	}
	if message.Outcome == cloud.Recorded && !message.Sent.IsZero() {
		m.feeds.duration.WithLabelValues().Observe(max(0, now.Sub(message.Sent).Seconds()))
	}
}

// FeedFailed counts a failure of receive, settle, record, list or confirm.
func (m *Metrics) FeedFailed(operation string) {
	if m != nil {
		m.feeds.errors.WithLabelValues(operation).Inc()
	}
}
