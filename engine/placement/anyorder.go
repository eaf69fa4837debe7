package placement

import (
	"cmp"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// tooMany is how many nominations a plan may need: with more, kube-scheduler is several times
// slower.
const tooMany = 500

// premium is how much more a plan may cost that needs fewer, as a share of the price.
const premium = 0.02

// inAnyOrder replaces a plan that needs too many nominations by one whose pods kube-scheduler may
// take in any order, if one costs little more: where machines have the same ratio of memory to CPU,
// the same resource is mostly the scarcest on each.
func (r *run) inAnyOrder(tight *plan.Plan, copies []*snapshot.Pod) *plan.Plan {
	if !fineGrained(tight.NewNodes) || r.nominations(tight) <= tooMany {
		return tight
	}
	of, ratio := *r, mainRatio(tight)
	of.opts.only = func(t *catalog.Type) bool { return ratioOf(t) == ratio }
	p := of.expecting(copies)
	if p.PricePerHour() > tight.PricePerHour()*(1+premium) || len(p.Unplaced) > len(tight.Unplaced) || r.nominations(p) > tooMany {
		return tight
	}
	p.LowerBound = tight.LowerBound // others than of this ratio might cost less
	return p
}

// fineGrained reports whether machines are for many pods without inter-pod constraints, each of which
// takes a twentieth of a machine at most: then little is left over in any order.
func fineGrained(machines []plan.NewNode) bool {
	pods, has, most := 0, map[corev1.ResourceName]float64{}, map[corev1.ResourceName]float64{}
	for i := range machines {
		n := &machines[i]
		for name, q := range n.Choice.Type.Allocatable() {
			has[name] += q.AsApproximateFloat64()
		}
		for _, p := range slices.Concat(n.Pods, n.Expected) {
			if a := p.Class.Affinity; len(p.Class.Spread) == 0 && (a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil) {
				pods++
			}
			for _, a := range p.Class.Requests {
				most[a.Name] = max(most[a.Name], a.Quantity.AsApproximateFloat64())
			}
		}
	}
	for name, q := range most {
		if 20*q*float64(len(machines)) > has[name] {
			return false
		}
	}
	return pods > tooMany
}

// nominations is how many a plan needs.
func (r *run) nominations(p *plan.Plan) int {
	s := r.snap.Fork()
	s.Nominated, s.Expected = map[types.NamespacedName]string{}, nil // p has the expected pods
	var pods []*snapshot.Pod
	on := func(name string, list ...*snapshot.Pod) {
		for _, pod := range list {
			s.Nominated[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = name
		}
		pods = append(pods, list...)
	}
	for _, at := range slices.Concat(p.Placements, p.Expected) {
		on(at.Node.Name, at.Pod)
	}
	for i := range p.NewNodes {
		n := &p.NewNodes[i]
		claim := claimOf(r.snap, n, i)
		maps.Copy(claim.Labels, n.Choice.Labels())
		s.Nodes = append(s.Nodes, &snapshot.Node{Name: claim.Name, Claim: claim})
		on(claim.Name, slices.Concat(n.Pods, n.Expected)...)
	}
	return nomination.Needed(s, pods)
}

// mainRatio is the ratio of the machines on which a plan spends most.
func mainRatio(p *plan.Plan) int {
	price := map[int]float64{}
	for i := range p.NewNodes {
		price[ratioOf(p.NewNodes[i].Choice.Type)] += p.NewNodes[i].Choice.Offering.Price
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(price)), func(a, b int) int { return cmp.Compare(price[a], price[b]) })
}

// ratioOf is a machine's memory for each CPU, as the binary logarithm of the number of GiB, rounded.
func ratioOf(t *catalog.Type) int {
	cpu, memory := t.Capacity[corev1.ResourceCPU], t.Capacity[corev1.ResourceMemory]
	return int(math.Round(math.Log2(memory.AsApproximateFloat64() / cpu.AsApproximateFloat64() / (1 << 30))))
}
