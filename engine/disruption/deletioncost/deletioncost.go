// Package deletioncost has ReplicaSets that scale in delete the pods of those machines first that
// would be disrupted next, as Karpenter's feature gate PodDeletionCostManagement does. By
// themselves they delete evenly across nodes, after which all are a little emptier and none is empty.
//
// Only the order of costs counts, and each new cost is a write. So machines keep the costs
// that their pods have as long as those are in the right order, and others get costs between
// these: what a machine that changes its place costs is writing its own pods.
package deletioncost

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/disruption/idle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Class is how soon a machine goes.
type Class int

const (
	// Leaving machines are in a command or being deleted. Their pods all have the lowest cost.
	Leaving Class = iota
	// Renewed machines are to be replaced: they have drifted or expired, or the cloud announced their end.
	Renewed
	// Consolidated machines go if they are not needed.
	Consolidated
)

// Machine is one that may be disrupted voluntarily, or is leaving.
type Machine struct {
	Node  *snapshot.Node
	Class Class
	// Price is in $/h, zero if it is not known.
	Price float64
}

// Change is a pod whose cost is to be another.
type Change struct {
	Node *snapshot.Node
	Pod  *snapshot.Pod
	// Cost is zero for one that is to be taken off.
	Cost int32
}

// Apply makes the change.
func (c Change) Apply(p *corev1.Pod) {
	if c.Cost == 0 {
		delete(p.Annotations, corev1.PodDeletionCost)
		return
	}
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, corev1.PodDeletionCost, strconv.Itoa(int(c.Cost)))
}

// Costs above floor and below zero are managed here, as is lowest; all others are users'
// own and stay. Without the gate, a pod's cost also says what it costs to move: these are
// too small to count there.
const (
	lowest = math.MinInt32
	floor  = -1 << 24
	// step is how far apart the costs of machines are that come first or last.
	step = 1 << 10
	// alike is the ratio up to which machines keep their order.
	alike = 1.25
	// settled is for how long a pod has to have a node before it gets a cost: where many come at
	// once, each of them changes the place of its machine.
	settled = time.Minute
)

// Changes are the pods whose cost differs from what it should be, node by node, those first that
// are to be deleted first. Machines of a snapshot that are not among those given, for one because a pod
// there must not be disrupted, have no costs. No cost is written to the pods of a ReplicaSet
// that has none on a second machine, as it has no choice, nor to one that has just come.
func Changes(s *snapshot.Snapshot, machines []Machine) []Change {
	list := make([]ranked, 0, len(machines))
	given := make(map[*snapshot.Node]bool, len(machines))
	for _, m := range machines {
		list = append(list, rankedOf(m))
		given[m.Node] = true
	}
	slices.SortStableFunc(list, ranked.compare)
	costs := make([]int32, len(list))
	first, _ := slices.BinarySearchFunc(list, Renewed, func(r ranked, c Class) int { return cmp.Compare(r.Class, c) })
	for i := range costs[:first] {
		costs[i] = lowest
	}
	copy(costs[first:], assign(list[first:]))

	var out []Change
	choose := choices(s)
	for i, m := range list {
		for _, p := range m.Node.Pods {
			if choose[ownerOf(p)] && p.Active() && s.Now.Sub(idle.Bound(p.Pod)) >= settled && managed(p) && costOf(p) != costs[i] {
				out = append(out, Change{m.Node, p, costs[i]})
			}
		}
	}
	for _, n := range s.Nodes {
		for _, p := range n.Pods {
			if !given[n] && ownerOf(p) != "" && p.Active() && managed(p) && costOf(p) != 0 {
				out = append(out, Change{n, p, 0})
			}
		}
	}
	return out
}

// ranked is a machine with what its place depends on.
type ranked struct {
	Machine
	// saving and size are logarithms, in steps of alike: of what its removal saves for each pod
	// that moves, and of how many these are.
	saving, size float64
	// cost is that of its pods, zero if they have none.
	cost int32
}

func rankedOf(m Machine) ranked {
	pods := m.Node.MoveCost()
	steps := func(x float64) float64 { return math.Floor(math.Log(x) / math.Log(alike)) }
	r := ranked{Machine: m, saving: steps(m.Price / pods), size: steps(pods)}
	for _, p := range m.Node.Pods {
		if c := costOf(p); c > floor && c < 0 && ownerOf(p) != "" {
			r.cost = c
			break
		}
	}
	return r
}

// compare orders machines: of those whose removal saves alike for a pod the small ones are first, as
// a scale-in that ends before a machine is empty has pods move.
func (r ranked) compare(o ranked) int {
	return cmp.Or(
		cmp.Compare(r.Class, o.Class), cmp.Compare(o.saving, r.saving), cmp.Compare(r.size, o.size),
		cmp.Compare(r.cost, o.cost), cmp.Compare(r.Node.Name, o.Node.Name),
	)
}

// assign gives machines costs in their order. As many as can keep those that they have.
func assign(list []ranked) []int32 {
	costs := make([]int32, len(list))
	for _, i := range ascending(list) {
		costs[i] = list[i].cost
	}
	for i := 0; i < len(costs); i++ {
		if costs[i] != 0 {
			continue
		}
		end := i
		for end < len(costs) && costs[end] == 0 {
			end++
		}
		low, high, n := floor, 0, end-i
		if i > 0 {
			low = int(costs[i-1])
		}
		if end < len(costs) {
			high = int(costs[end])
		}
		switch {
		case i > 0 && end == len(costs):
			high = min(low+step*(n+1), high)
		case i == 0 && end < len(costs):
			low = max(high-step*(n+1), low)
		}
		if high-low <= n { // no room between: all get new ones
			anew := slices.Clone(list)
			for j := range anew {
				anew[j].cost = 0
			}
			return assign(anew)
		}
		for k := range n {
			costs[i+k] = int32(low + (high-low)*(k+1)/(n+1))
		}
		i = end
	}
	return costs
}

// ascending are the indices of a longest series of machines with costs that ascend.
func ascending(list []ranked) []int {
	var ends []int // by length, where the series ends that ends lowest
	before := make([]int, len(list))
	for i, r := range list {
		if r.cost == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(ends, r.cost, func(j int, cost int32) int { return cmp.Compare(list[j].cost, cost) })
		before[i] = -1
		if at > 0 {
			before[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, i)
		}
		ends[at] = i
	}
	var out []int
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			out = append(out, i)
		}
	}
	return out
}

// choices are the owners with pods on more than one node.
func choices(s *snapshot.Snapshot) map[types.UID]bool {
	on, out := map[types.UID]*snapshot.Node{}, map[types.UID]bool{}
	for _, n := range s.Nodes {
		for _, p := range n.Pods {
			owner := ownerOf(p)
			if owner == "" || !p.Active() {
				continue
			}
			if other := on[owner]; other != nil && other != n {
				out[owner] = true
			}
			on[owner] = n
		}
	}
	return out
}

// ownerOf is the controller of a pod that goes by its deletion cost, empty for another.
func ownerOf(p *snapshot.Pod) types.UID {
	o := metav1.GetControllerOf(p.Pod)
	if o == nil || o.Kind != "ReplicaSet" && o.Kind != "ReplicationController" {
		return ""
	}
	return o.UID
}

// costOf is zero for a pod without a cost, or with one that cannot be read.
func costOf(p *snapshot.Pod) int32 {
	cost, err := strconv.ParseInt(p.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int32(cost)
}

// managed reports whether a pod's cost is not its users' own.
func managed(p *snapshot.Pod) bool {
	_, has := p.Annotations[corev1.PodDeletionCost]
	cost := costOf(p)
	return !has || cost == lowest || cost > floor && cost < 0
}
