package placement

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// standing is what the machines of pools cost that stay, in $/h, as far as the pools
// still know their types.
func standing(s *snapshot.Snapshot, pools []*supply.Pool) float64 {
	machines := map[string][]*snapshot.Node{}
	for _, n := range s.Nodes {
		if !n.Deleting() {
			machines[n.Pool()] = append(machines[n.Pool()], n)
		}
	}
	sum := 0.0
	for _, p := range pools {
		if len(machines[p.Name]) == 0 {
			continue
		}
		types := make(map[string]*catalog.Type, len(p.Types))
		for _, t := range p.Types {
			types[t.Name] = t
		}
		for _, n := range machines[p.Name] {
			labels := n.Labels()
			if t := types[labels[corev1.LabelInstanceTypeStable]]; t != nil {
				o, _ := t.Offering(labels[corev1.LabelTopologyZone], labels[catalog.CapacityTypeLabel])
				sum += o.Price
			}
		}
	}
	return sum
}
