package state

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// typeSeries are about the instance types that pools allow: a cloud has hundreds of others.
type typeSeries struct{ price, available, cores, memory *prometheus.Desc }

func newTypeSeries() typeSeries {
	return typeSeries{
		price:     desc("cloudprovider", "instance_type_offering_price_estimate", "Price of an offering that a pool allows, in US dollars per hour; the lowest if NodeOverlays give pools different ones.", "instance_type", "capacity_type", "zone"),
		available: desc("cloudprovider", "instance_type_offering_available", "1 if an offering that a pool allows can be had at present.", "instance_type", "capacity_type", "zone"),
		cores:     desc("cloudprovider", "instance_type_cpu_cores", "vCPUs of an instance type that a pool allows.", "instance_type"),
		memory:    desc("cloudprovider", "instance_type_memory_bytes", "Memory of an instance type that a pool allows.", "instance_type"),
	}
}

func (s typeSeries) all() []*prometheus.Desc {
	return []*prometheus.Desc{s.price, s.available, s.cores, s.memory}
}

func (s typeSeries) collect(out chan<- prometheus.Metric, snap *snapshot.Snapshot) {
	types, prices, available := map[string]*catalog.Type{}, map[catalog.Key]float64{}, map[catalog.Key]float64{}
	for _, p := range snap.Pools {
		allows := func(has requirement.Set) bool {
			_, conflict := has.Conflict(p.Requirements, func(string) bool { return true })
			return !conflict
		}
		for _, t := range p.Types {
			if !allows(t.Requirements) {
				continue
			}
			for _, o := range t.Offerings {
				key := o.Key(t.Name)
				was, known := prices[key]
				if known && available[key] == 1 && was <= o.Price || !allows(o.Requirements()) { // pools have much in common
					continue
				}
				types[t.Name] = t
				if !known || o.Price < was {
					prices[key] = o.Price
				}
				if o.Available && snap.Unavailable[key].IsZero() {
					available[key] = 1
				}
			}
		}
	}
	for key, price := range prices {
		series{s.price, out}.set(price, key.Type, key.CapacityType, key.Zone)
		series{s.available, out}.set(available[key], key.Type, key.CapacityType, key.Zone)
	}
	for name, t := range types {
		size := amounts{}
		size.add(t.Capacity)
		series{s.cores, out}.set(size[corev1.ResourceCPU], name)
		series{s.memory, out}.set(size[corev1.ResourceMemory], name)
	}
}
