package state

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Collector exports the state. It is safe for concurrent use.
type Collector struct {
	loop.Deps
	nodes         nodeSeries
	pools         poolSeries
	pods          podSeries
	cluster       clusterSeries
	types         typeSeries
	faults        *prometheus.Desc
	announcements *prometheus.Desc

	mu       sync.Mutex
	unsynced time.Time // since when the state is incomplete, zero if it is not
}

// New makes a collector over a store. The labels of nodes are those that are
// well known at this time.
func New(d loop.Deps) *Collector {
	return &Collector{
		Deps: d, nodes: newNodeSeries(), pools: newPoolSeries(), pods: newPodSeries(), cluster: newClusterSeries(), types: newTypeSeries(),
		faults: newAttachmentFaults(), announcements: newAnnouncements(),
		unsynced: d.Clock.Now(),
	}
}

// series emits one value.
type series struct {
	desc *prometheus.Desc
	out  chan<- prometheus.Metric
}

func (s series) set(v float64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, v, labels...)
}

func desc(subsystem, name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("karpenter", subsystem, name), help, labels, nil)
}

// Describe is prometheus.Collector's.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, group := range [][]*prometheus.Desc{c.nodes.all(), c.pools.all(), c.pods.all(), c.cluster.all(), c.types.all(), {c.faults, c.announcements}} {
		for _, d := range group {
			out <- d
		}
	}
}

// Collect is prometheus.Collector's.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s := c.Store.Snapshot(c.Clock.Now(), c.Types) // providers know instance types by heart
	c.collectCluster(out, s)
	c.nodes.collect(out, s)
	c.pools.collect(out, s)
	c.collectPods(out, s)
	c.collectAttachments(out, s)
	c.collectAnnouncements(out, s)
	c.types.collect(out, s)
}

type clusterSeries struct{ count, synced, unsynced, utilization *prometheus.Desc }

func newClusterSeries() clusterSeries {
	return clusterSeries{
		count:       desc("cluster_state", "node_count", "Machines in the store."),
		synced:      desc("cluster_state", "synced", "1 if the store has everything that the API server has."),
		unsynced:    desc("cluster_state", "unsynced_time_seconds", "For how long the store has been incomplete."),
		utilization: desc("cluster", "utilization_percent", "Share of the allocatable resources that pods request.", "resource_type"),
	}
}

func (c clusterSeries) all() []*prometheus.Desc {
	return []*prometheus.Desc{c.count, c.synced, c.unsynced, c.utilization}
}

func (c *Collector) collectCluster(out chan<- prometheus.Metric, s *snapshot.Snapshot) {
	synced, unsynced := c.sync(s.Now)
	series{c.cluster.count, out}.set(float64(len(s.Nodes)))
	series{c.cluster.synced, out}.set(synced)
	series{c.cluster.unsynced, out}.set(unsynced.Seconds())
	allocatable, requested := amounts{}, amounts{}
	for _, n := range s.Nodes {
		if n.Object == nil {
			continue
		}
		allocatable.add(n.Allocatable())
		for _, p := range n.Pods {
			requested.ask(p.Class.Requests)
		}
	}
	for _, name := range allocatable.names() {
		if total := allocatable[name]; total > 0 {
			series{c.cluster.utilization, out}.set(100*requested[name]/total, label(name))
		}
	}
}

func (c *Collector) sync(now time.Time) (synced float64, unsynced time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Store.Synced() {
		c.unsynced = time.Time{}
		return 1, 0
	}
	if c.unsynced.IsZero() {
		c.unsynced = now
	}
	return 0, now.Sub(c.unsynced)
}
