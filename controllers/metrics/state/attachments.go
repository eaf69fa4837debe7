package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/engine/attachment"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func newAttachmentFaults() *prometheus.Desc {
	return prometheus.NewDesc("millwright_volume_attachment_faults", "VolumeAttachments that are left over or do not become what they should.", []string{"reason", "driver"}, nil)
}

func (c *Collector) collectAttachments(out chan<- prometheus.Metric, s *snapshot.Snapshot) {
	type key struct{ reason, driver string }
	count := map[key]int{}
	for _, f := range attachment.Faults(s) {
		count[key{string(f.Code), f.Attachment.Spec.Attacher}]++
	}
	order := func(a, b key) int { return cmp.Or(cmp.Compare(a.reason, b.reason), cmp.Compare(a.driver, b.driver)) }
	for _, k := range slices.SortedFunc(maps.Keys(count), order) {
		series{c.faults, out}.set(float64(count[k]), k.reason, k.driver)
	}
}
