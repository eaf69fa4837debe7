package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// plannedIndex is the number of the planned machine that a node stands for.
func plannedIndex(n *snapshot.Node) (int, bool) {
	name, ok := strings.CutPrefix(n.Name, topology.Planned)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(name)
	return i, err == nil
}

// plannedIn counts the planned machines of a cluster.
func plannedIn(s *snapshot.Snapshot) int {
	n := 0
	for _, node := range s.Nodes {
		if _, ok := plannedIndex(node); ok {
			n++
		}
	}
	return n
}

// carriedOut is the cluster as it will be when a plan has come true: its pods are
// on their machines, and its new machines are on their way. They are numbered
// after those that were planned before.
func carriedOut(s *snapshot.Snapshot, p *plan.Plan) *snapshot.Snapshot {
	f := s.Fork()
	coming := map[*snapshot.Node][]*snapshot.Pod{}
	for _, x := range p.Placements {
		coming[x.Node] = append(coming[x.Node], x.Pod)
	}
	for i, n := range f.Nodes {
		if pods := coming[n]; len(pods) > 0 {
			with := *n
			with.Pods = slices.Concat(n.Pods, pods)
			f.Nodes[i] = &with
		}
	}
	before := plannedIn(s)
	for i := range p.NewNodes {
		f.Nodes = append(f.Nodes, planned(s, &p.NewNodes[i], before+i))
	}
	slices.SortFunc(f.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	return f
}

// planned is a new machine as one that is on its way. It has what all of its
// alternatives have.
func planned(s *snapshot.Snapshot, n *plan.NewNode, i int) *snapshot.Node {
	pool := s.Pool(n.Pool)
	claim := &snapshot.Claim{
		Name: fmt.Sprintf("%s%06d", topology.Planned, i), Pool: n.Pool, Class: pool.Class,
		Labels: maps.Clone(pool.Labels), Taints: pool.Taints, StartupTaints: pool.StartupTaints,
		Requirements: n.Requirements.And(common(n.Alternatives)), Requests: n.Requests,
		Allocatable: least(n.Alternatives),
	}
	if claim.Labels == nil {
		claim.Labels = map[string]string{}
	}
	claim.Labels[snapshot.PoolLabel] = n.Pool
	node := &snapshot.Node{Name: claim.Name, Claim: claim, Pods: n.Pods}
	for _, d := range s.DaemonSets {
		if mayRun(d, node) {
			claim.Allocatable = vector.Less(claim.Allocatable, d.Pod.Class.Requests)
		}
	}
	return node
}

// common is what is certain about the labels of a machine whatever it becomes: one
// of the values that the alternatives have.
func common(list []catalog.Choice) requirement.Set {
	values := map[string][]string{}
	for _, c := range list {
		for key, v := range c.Labels() {
			values[key] = append(values[key], v)
		}
	}
	var out requirement.Set
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if len(values[key]) == len(list) {
			out = out.With(requirement.Must(key, requirement.In, values[key]...))
		}
	}
	return out
}

// least is what pods can request of every alternative.
func least(list []catalog.Choice) corev1.ResourceList {
	out := list[0].Type.Allocatable()
	done := map[*catalog.Type]bool{list[0].Type: true}
	for _, c := range list {
		if done[c.Type] {
			continue
		}
		done[c.Type] = true
		have := c.Type.Allocatable()
		for name, q := range out {
			if other := have[name]; other.Cmp(q) < 0 {
				out[name] = other
			}
		}
	}
	return out
}

// mayRun reports whether a DaemonSet's pod may or may not come to be on a machine,
// depending on what the machine becomes. What is certain is counted anyway.
func mayRun(d *snapshot.DaemonSet, n *snapshot.Node) bool {
	if _, kept := taints.Untolerated(n.Claim.Taints, d.Pod.Class.Tolerations); kept || d.Pod.Class.Invalid != "" {
		return false
	}
	is := n.Guaranteed()
	certain := func(r requirement.Requirement) bool { return is.Get(r.Key()).Implies(r) }
	possible := func(r requirement.Requirement) bool { return is.Get(r.Key()).Overlaps(r) }
	may := false
	for _, term := range d.Pod.Class.Terms {
		if !slices.ContainsFunc(term, func(r requirement.Requirement) bool { return !certain(r) }) {
			return false
		}
		may = may || !slices.ContainsFunc(term, func(r requirement.Requirement) bool { return !possible(r) })
	}
	return may
}
