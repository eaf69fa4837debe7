package state

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/engine/interruption/ledger"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func newAnnouncements() *prometheus.Desc {
	return prometheus.NewDesc("millwright_interruption_events", "What the cloud has announced about machines and is on record.", []string{"kind", "state"}, nil)
}

func (c *Collector) collectAnnouncements(out chan<- prometheus.Metric, s *snapshot.Snapshot) {
	type key struct{ kind, state string }
	count := map[key]int{}
	for _, e := range ledger.Events(s) {
		k := key{string(e.Kind), "standing"}
		if e.Over() {
			k.state = "over"
		}
		count[k]++
	}
	for k, n := range count {
		series{c.announcements, out}.set(float64(n), k.kind, k.state)
	}
}
