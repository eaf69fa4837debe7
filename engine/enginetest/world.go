package enginetest

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Now is the instant of every world that is made here.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Pool is a pool that sells the types and demands nothing else.
func Pool(name string, types []*catalog.Type, wants ...requirement.Requirement) *snapshot.Pool {
	return &snapshot.Pool{Name: name, Types: types, Requirements: requirement.NewSet(wants...)}
}

// OnDemand keeps a pool away from spot machines.
func OnDemand() requirement.Requirement {
	return requirement.Must(catalog.CapacityTypeLabel, requirement.In, catalog.OnDemand)
}

// Snapshot is a cluster without machines: pools and pending pods, in order.
func Snapshot(pools []*snapshot.Pool, pods []*corev1.Pod) *snapshot.Snapshot {
	var classes snapshot.Classes
	s := &snapshot.Snapshot{Now: now, Pools: pools}
	for _, p := range pods {
		s.Pending = append(s.Pending, classes.Pod(p))
	}
	slices.SortFunc(s.Pools, func(a, b *snapshot.Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Pending, func(a, b *snapshot.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return s
}
