package disruption

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// exceeded reports whether new machines would exceed their pools' limits beside
// all that exist: until a machine is gone it counts.
func (d *decider) exceeded(list []plan.NewNode) (plan.Reason, bool) {
	for i := range list {
		p := d.s.Pool(list[i].Pool)
		for name, limit := range p.Limits {
			sum := d.used(p.Name, name)
			for j := range list {
				if list[j].Pool == p.Name {
					sum.Add(amount(list[j].Choice.Type.Capacity, name))
				}
			}
			if sum.Cmp(limit) > 0 {
				return plan.Reason{
					Code: plan.LimitHolds, Objects: poolRef(p), Want: limit.String(),
					Have: string(name) + " would be " + sum.String() + " of " + limit.String(),
				}, true
			}
		}
	}
	return plan.Reason{}, false
}

// used is what a pool's machines have of a resource that limits count.
func (d *decider) used(pool string, name corev1.ResourceName) resource.Quantity {
	var sum resource.Quantity
	for _, n := range d.s.Nodes {
		if n.Pool() == pool && !n.Deleting() {
			sum.Add(amount(n.Capacity(), name))
		}
	}
	return sum
}

// amount is one machine's part of a limit.
func amount(capacity corev1.ResourceList, name corev1.ResourceName) resource.Quantity {
	if name == "nodes" {
		return *resource.NewQuantity(1, resource.DecimalSI)
	}
	return capacity[name]
}

// launches reports whether a pool can launch machines now: its replacements have not
// just failed, and its limits leave room for machines as large as it has.
func (d *decider) launches(p *snapshot.Pool) bool {
	if _, resting := d.resting(p.Name); resting || p.NotReady != "" || p.Replicas != nil {
		return false
	}
	for name, limit := range p.Limits {
		used, most := d.used(p.Name, name), resource.Quantity{}
		for _, n := range d.s.Nodes {
			if one := amount(n.Capacity(), name); n.Pool() == p.Name && one.Cmp(most) > 0 {
				most = one
			}
		}
		used.Add(most)
		if used.Cmp(limit) > 0 {
			return false
		}
	}
	return true
}
