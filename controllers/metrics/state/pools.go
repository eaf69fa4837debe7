package state

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

type poolSeries struct{ limit, usage, allowed, consuming *prometheus.Desc }

func newPoolSeries() poolSeries {
	return poolSeries{
		limit:     desc("nodepools", "limit", "Limits of a pool.", "resource_type", "nodepool"),
		usage:     desc("nodepools", "usage", "What a pool's machines provide.", "resource_type", "nodepool"),
		allowed:   desc("nodepools", "allowed_disruptions", "How many machines of a pool its budgets allow to disrupt now.", "nodepool", "reason"),
		consuming: desc("nodepools", "nodes_consuming_budgets", "Machines of a pool that are not ready or leaving.", "nodepool", "reason"),
	}
}

func (s poolSeries) all() []*prometheus.Desc {
	return []*prometheus.Desc{s.limit, s.usage, s.allowed, s.consuming}
}

func (s poolSeries) collect(out chan<- prometheus.Metric, snap *snapshot.Snapshot) {
	for _, p := range snap.Pools {
		limits, usage := amounts{}, amounts{"nodes": 0}
		limits.add(p.Limits)
		for _, n := range snap.Nodes {
			if n.Pool() != p.Name || n.Deleting() || n.Claim.ProviderID == "" {
				continue
			}
			usage.add(n.Capacity())
			usage["nodes"]++
		}
		for _, name := range limits.names() {
			series{s.limit, out}.set(limits[name], label(name), p.Name)
		}
		for _, name := range usage.names() {
			series{s.usage, out}.set(usage[name], label(name), p.Name)
		}
	}
	for _, a := range disruption.Allowances(snap) {
		series{s.allowed, out}.set(float64(a.Remaining()), a.Pool, string(a.Cause))
		series{s.consuming, out}.set(float64(a.Disrupting), a.Pool, string(a.Cause))
	}
}
