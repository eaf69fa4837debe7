package nomination

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Pods of several classes fit in any order where the same resource is the scarcest on every
// machine and enough of it is left over. Let f(n, r) be what machine n has free of resource r
// for pods of the classes C, the pods of all others bound or nominated, and a(c, r) what a pod
// of c requests. If for some ρ
//
//	a(c, r) / f(n, r) ≤ a(c, ρ) / f(n, ρ)                    for all c, r and n
//	Σ f(n, ρ) − Σ pods(c) · a(c, ρ) ≥ (machines − 1) · a(c, ρ)  for all c
//
// then a machine on which a pod of c finds no room has more than f(n, ρ) − a(c, ρ) in use by
// pods of C. If that was so on all of them, more would be in use than those pods request. The
// machines are those that pods of C are planned for: what others have is not counted on.
//
// Where the machines have, or are planned for, more than Many pods, the conditions need not hold
// if what may be left over is a twentieth of what they have: kube-scheduler copies all nominated
// pods for each that it tries. Where the first needs a factor 1 + ε on its right, a machine on which
// a pod of c finds no room has less than ε/(1 + ε) · f(n, ρ) + a(c, ρ) left.
//
// It takes classes that qualify as a single one does (needs.go), whose pods may use each of
// the machines, and that have no host ports or disks: those are not resources to be summed up.

// Many is how many pods the machines may have, or be planned for, until nominations are spared
// although that may leave some room unused.
const Many = 1000

// machine is one that the plan counts on.
type machine struct {
	node *snapshot.Node
	// free is what it has for planned pods, by resource.
	free map[corev1.ResourceName]float64
	// planned counts the pods that the plan has there and that are not bound, by class.
	planned map[*snapshot.Class]int
}

// machines are those that the plan counts on for pods, but for those of which only that is known
// for which pods they are launched.
func (m *memo) machines(s *snapshot.Snapshot) []*machine {
	var out []*machine
	for _, n := range s.Nodes {
		if len(m.planned[n]) == 0 || n.Object == nil && len(n.Claim.Allocatable) == 0 {
			continue
		}
		one := &machine{node: n, free: free(s, n), planned: map[*snapshot.Class]int{}}
		for _, p := range m.planned[n] {
			one.planned[p.Class]++
		}
		out = append(out, one)
	}
	return out
}

// free is what is left of a machine beside the pods that are bound to it and one of each
// DaemonSet that has none there, whether it would run there or not.
func free(s *snapshot.Snapshot, n *snapshot.Node) map[corev1.ResourceName]float64 {
	out := map[corev1.ResourceName]float64{}
	for name, q := range n.Allocatable() {
		out[name] = q.AsApproximateFloat64()
	}
	take := func(p *snapshot.Pod) {
		for _, a := range p.Class.Requests {
			out[a.Name] -= a.Quantity.AsApproximateFloat64()
		}
	}
	for _, p := range n.Pods {
		take(p)
	}
	for _, d := range s.DaemonSets {
		if !slices.ContainsFunc(n.Pods, d.Owns) {
			take(d.On(n.Name))
		}
	}
	return out
}

// inAnyOrder are those of the classes whose pods fit in any order, as many as are found.
func inAnyOrder(machines []*machine, classes []*contender) []*contender {
	var best []*contender
	pods := 0
	for _, m := range machines {
		pods += len(m.node.Pods)
		for _, n := range m.planned {
			pods += n
		}
	}
	for _, scarcest := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		some := slices.DeleteFunc(slices.Clone(classes), func(t *contender) bool { return !unselective(t.class, machines) })
		slices.SortStableFunc(some, func(a, b *contender) int { return cmp.Compare(request(a.class, scarcest), request(b.class, scarcest)) })
		for len(some) > len(best) && !fitInAnyOrder(machines, some, scarcest, pods > Many) {
			some = some[:len(some)-1]
		}
		if len(some) > len(best) {
			best = some
		}
	}
	return best
}

// unselective reports whether pods of a class may use each of the machines, and nothing but
// resources counts.
func unselective(c *snapshot.Class, machines []*machine) bool {
	if len(c.HostPorts) > 0 || len(c.Disks) > 0 {
		return false
	}
	return !slices.ContainsFunc(machines, func(m *machine) bool {
		_, kept := taints.Untolerated(m.node.Taints(), c.Tolerations)
		return kept || !slices.ContainsFunc(c.Terms, func(t requirement.Set) bool { return t.Matches(m.node.Labels()) })
	})
}

func request(c *snapshot.Class, name corev1.ResourceName) float64 {
	q := c.Requests.Get(name)
	return q.AsApproximateFloat64()
}

// fitInAnyOrder reports whether the pods of classes do, the last of which requests the most of
// the resource that is scarcest everywhere; nearly all of them, where there are many.
func fitInAnyOrder(machines []*machine, classes []*contender, scarcest corev1.ResourceName, many bool) bool {
	left, capacity, with, unused := 0.0, 0.0, -1, 0.0
	for _, m := range machines {
		if !slices.ContainsFunc(classes, func(t *contender) bool { return m.planned[t.class] > 0 }) {
			continue
		}
		room := m.roomFor(classes)
		all := m.node.Allocatable()[scarcest]
		left, capacity, with, unused = left+room[scarcest], capacity+all.AsApproximateFloat64(), with+1, unused+unusedOf(room, classes, scarcest)
	}
	for _, t := range classes {
		left -= float64(t.pods) * request(t.class, scarcest)
	}
	over := float64(with) * request(classes[len(classes)-1].class, scarcest)
	return unused == 0 && left >= over || many && 20*(unused+over) <= capacity
}

// unusedOf is how much of the scarcest resource of a machine is left, beside less than a pod's, when
// it has no more of another: ε/(1 + ε) · f(n, ρ).
func unusedOf(room map[corev1.ResourceName]float64, classes []*contender, scarcest corev1.ResourceName) float64 {
	unused := 0.0
	for _, t := range classes {
		for _, a := range t.class.Requests {
			// By a pod's share of the other resource, and of the scarcest.
			if other, own := a.Quantity.AsApproximateFloat64()*room[scarcest], request(t.class, scarcest)*max(room[a.Name], 0); other > own*(1+1e-9) {
				unused = max(unused, room[scarcest]*(1-own/other))
			}
		}
	}
	return unused
}

// roomFor is what a machine has for pods of some classes beside those of all others.
func (m *machine) roomFor(classes []*contender) map[corev1.ResourceName]float64 {
	room := maps.Clone(m.free)
	for c, n := range m.planned {
		if slices.ContainsFunc(classes, func(t *contender) bool { return t.class == c }) {
			continue
		}
		for _, a := range c.Requests {
			room[a.Name] -= float64(n) * a.Quantity.AsApproximateFloat64()
		}
	}
	return room
}
