package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// carriedOut is the cluster as it will be when a plan has come true: its pods are
// on their machines, and its new machines, which made lists, are on their way.
func carriedOut(s *snapshot.Snapshot, p *plan.Plan) (f *snapshot.Snapshot, made []*snapshot.Node) {
	f = s.Fork()
	coming := map[*snapshot.Node][]*snapshot.Pod{}
	for _, x := range slices.Concat(p.Placements, p.Expected) {
		coming[x.Node] = append(coming[x.Node], x.Pod)
	}
	for i, n := range f.Nodes {
		if pods := coming[n]; len(pods) > 0 {
			with := *n
			with.Pods = slices.Concat(n.Pods, pods)
			f.Nodes[i] = &with
		}
	}
	for i := range p.NewNodes {
		made = append(made, planned(s, &p.NewNodes[i], len(s.Nodes)+i))
	}
	f.Nodes = append(f.Nodes, made...)
	slices.SortFunc(f.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	return f, made
}

// planned is a new machine as one that is on its way. Its labels are those that all of its
// alternatives have; what it promises is found out as for any machine on its way.
func planned(s *snapshot.Snapshot, n *plan.NewNode, i int) *snapshot.Node {
	claim := claimOf(s, n, i)
	claim.Requirements = n.Requirements.And(common(n.Alternatives))
	return &snapshot.Node{Name: claim.Name, Claim: claim, Pods: slices.Concat(n.Pods, n.Expected)}
}

// claimOf is the claim of a new machine without what it demands, with the labels of its pool.
func claimOf(s *snapshot.Snapshot, n *plan.NewNode, i int) *snapshot.Claim {
	pool := s.Pool(n.Pool)
	labels := map[string]string{}
	maps.Copy(labels, pool.Labels)
	labels[snapshot.PoolLabel] = n.Pool
	return &snapshot.Claim{
		Name: fmt.Sprintf("%s%06d", topology.Planned, i), Pool: n.Pool, Class: pool.Class,
		Labels: labels, Taints: pool.Taints, StartupTaints: pool.StartupTaints,
		Requests: n.Requests, Allocatable: n.Choice.Type.Allocatable(),
	}
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
