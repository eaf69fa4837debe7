// Package static decides about pools that keep a fixed number of machines
// (spec.replicas), whatever the pods: how many are to be launched, and which are
// too many.
//
//	snapshot, pool ──► Staff ──► machines to launch, machines to remove
//
// What is launched is the template itself, at the lowest price that it leaves
// ([Template]). Too many are removed those that carry the least: machines that are
// not initialized yet, then empty ones, then by the number of pods that would
// move, the youngest first.
package static

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Template is a machine of a pool as its template asks for it; false if none can
// be had now.
func Template(s *snapshot.Snapshot, p *snapshot.Pool) (plan.NewNode, bool) {
	if p.NotReady != "" {
		return plan.NewNode{}, false
	}
	choices := catalog.Rank(p.Types, p.Requirements, nil, s.Refused)
	if len(choices) == 0 {
		return plan.NewNode{}, false
	}
	return plan.NewNode{Pool: p.Name, Choice: choices[0], Alternatives: choices, Requirements: p.Requirements}, true
}

// Staff compares a static pool's machines with its replicas. A machine that stands
// in for another one, by name, counts once that one is going. Never both: either
// some are launched, within the pool's limit of nodes, or some removed.
func Staff(s *snapshot.Snapshot, p *snapshot.Pool, standIn map[string]*snapshot.Node) (launch []plan.NewNode, remove []*snapshot.Node) {
	if p.Replicas == nil {
		return nil, nil
	}
	var mine []*snapshot.Node
	all := int64(0)
	for _, n := range s.Nodes {
		if n.Pool() != p.Name || n.Deleting() {
			continue
		}
		all++
		if old := standIn[n.Name]; old == nil || old.Deleting() {
			mine = append(mine, n)
		}
	}
	lacking := *p.Replicas - int64(len(mine))
	if lacking < 0 {
		return nil, idlest(mine)[:-lacking]
	}
	if limit, limited := p.Limits["nodes"]; limited {
		lacking = min(lacking, left(limit, all))
	}
	fresh, ok := Template(s, p)
	if !ok {
		return nil, nil
	}
	switch {
	case p.OnTrial && slices.ContainsFunc(mine, func(n *snapshot.Node) bool { return !n.Initialized() }):
		return nil, nil
	case p.OnTrial || slices.Contains(p.TrialImages, fresh.Choice.Type.Image):
		lacking = min(lacking, 1)
	}
	for range lacking {
		launch = append(launch, fresh)
	}
	return launch, nil
}

func left(limit resource.Quantity, used int64) int64 { return max(0, limit.Value()-used) }

// idlest orders machines, those that carry the least first.
func idlest(list []*snapshot.Node) []*snapshot.Node {
	slices.SortFunc(list, func(a, b *snapshot.Node) int {
		return cmp.Or(
			cmp.Compare(weight(a), weight(b)),
			b.Claim.Created.Compare(a.Claim.Created),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return list
}

// weight is how many pods would move, and -1 for a machine that has none yet.
func weight(n *snapshot.Node) int {
	if !n.Initialized() {
		return -1
	}
	count := 0
	for _, p := range n.Pods {
		if eviction.Reschedulable(p.Pod) {
			count++
		}
	}
	return count
}
