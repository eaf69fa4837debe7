package disruption

import (
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Marked reports whether a machine of ours carries any mark of a command: the
// taint on the node or the condition on the claim.
func Marked(n *snapshot.Node) bool {
	return n.Claim != nil && (tainted(n) || n.Claim.Is(snapshot.DisruptionReason))
}

func tainted(n *snapshot.Node) bool {
	return n.Object != nil && eviction.Marked(n.Object)
}

// priceLabel is the price in $/h that a provider puts on a Node, by the name that
// eks-node-viewer reads.
const priceLabel = "eks-node-viewer/instance-price"

// Price is what a machine of a pool costs in $/h, whether or not the cloud sells its type
// at present: by the catalogue, and if that lacks it by the Node's label; 0 if neither
// knows.
func Price(pool *snapshot.Pool, n *snapshot.Node) float64 {
	if bought, known := Bought(pool, n); known {
		return bought.Offering.Price
	}
	price, _ := strconv.ParseFloat(n.Labels()[priceLabel], 64)
	if !(price > 0) || math.IsInf(price, 1) {
		return 0
	}
	return price
}

// Bought is what a machine of a pool is by the catalogue; false if that lacks it.
func Bought(pool *snapshot.Pool, n *snapshot.Node) (catalog.Choice, bool) {
	labels := n.Labels()
	name := labels[corev1.LabelInstanceTypeStable]
	i := slices.IndexFunc(pool.Types, func(t *catalog.Type) bool { return t.Name == name })
	if i < 0 {
		return catalog.Choice{}, false
	}
	o, known := pool.Types[i].Offering(labels[corev1.LabelTopologyZone], labels[catalog.CapacityTypeLabel])
	return catalog.Choice{Type: pool.Types[i], Offering: &o}, known
}

func priceOf(s *snapshot.Snapshot, nodes []*snapshot.Node) float64 {
	sum := 0.0
	for _, n := range nodes {
		if p := s.Pool(n.Pool()); p != nil {
			sum += Price(p, n)
		}
	}
	return sum
}

// unplanned is a pod of a machine that would have to move and that the command
// does not know, nil if there is none.
func unplanned(c Command, live *snapshot.Node) *snapshot.Pod {
	for p := range whatif.Moving(live) {
		same := func(o *snapshot.Pod) bool { return snapshot.ComparePods(o, p) == 0 }
		if !slices.ContainsFunc(c.Nodes, func(n *snapshot.Node) bool { return slices.ContainsFunc(n.Pods, same) }) {
			return p
		}
	}
	return nil
}

func poolRef(p *snapshot.Pool) []plan.ObjectRef {
	return []plan.ObjectRef{plan.PoolRef(p.Name)}
}

// fitsNowhere is why a machine stays, one of whose pods has no other place.
func (d *decider) fitsNowhere(p *snapshot.Pod, n *snapshot.Node) plan.Reason {
	return plan.Reason{Code: plan.PodFitsNowhere, Objects: append([]plan.ObjectRef{plan.RefOf(p)}, plan.MachineRefs(n)...), Have: d.s.Pool(n.Claim.Pool).Closed()}
}
