// Package static decides about pools that keep a fixed number of machines
// (spec.replicas), whatever the pods: how many are to be launched, and which are
// too many.
//
//	snapshot, pool ──► Staff ──► machines to launch, machines to remove
//
// What is launched is the template itself, at the lowest price that it leaves and as far as
// the pool's limits have room ([Template]). If there are too many, machines that are cordoned go
// first, then those that are not initialized yet, then empty ones, then those whose pods cost the
// least to move (snapshot.Node.MoveCost), the youngest first; at last those whose drain would wait:
// with a pod or a Node that must not be disrupted, or a pod that its PodDisruptionBudgets keep.
package static

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Template is a machine of a pool as its template asks for it, and as a ledger has room for
// it; the reason says why there is none.
func Template(s *snapshot.Snapshot, p *snapshot.Pool, room *limit.Ledger) (plan.NewNode, *plan.Reason) {
	all, why := catalog.Rank(p.Types, p.Requirements, nil, s.Refused), p.Closed()
	if len(all) == 0 || why != "" {
		why = cmp.Or(why, "the cloud has just refused all that its requirements allow")
		return plan.NewNode{}, &plan.Reason{Code: plan.PoolNotReady, Objects: []plan.ObjectRef{plan.PoolRef(p.Name)}, Have: why}
	}
	choices := room.Within(p.Name, all)
	if len(choices) == 0 {
		reason, _ := room.Take(&plan.NewNode{Pool: p.Name, Choice: all[0]})
		return plan.NewNode{}, &reason
	}
	return plan.NewNode{Pool: p.Name, Choice: choices[0], Alternatives: choices, Requirements: p.Requirements}, nil
}

// Staff compares a static pool's machines with its replicas. A machine that stands
// in for another one, by name, counts once that one is going. Never both: either
// some are launched, as far as the ledger has room, which is charged, or some removed. The
// shortage is nil unless some that lack cannot be launched.
func Staff(s *snapshot.Snapshot, p *snapshot.Pool, standIn map[string]*snapshot.Node, room *limit.Ledger) (launch []plan.NewNode, remove []*snapshot.Node, short *Shortage) {
	if p.Replicas == nil {
		return nil, nil, nil
	}
	var mine []*snapshot.Node
	for _, n := range s.Nodes {
		if n.Pool() != p.Name || n.Deleting() {
			continue
		}
		if old := standIn[n.Name]; old == nil || old.Deleting() {
			mine = append(mine, n)
		}
	}
	lacking := *p.Replicas - int64(len(mine))
	if lacking < 0 {
		return nil, cheapest(s, mine)[:-lacking], nil
	}
	for range lacking {
		fresh, none := Template(s, p, room)
		if none == nil {
			if reason, over := room.Take(&fresh); over {
				none = &reason
			}
		}
		if none != nil {
			return launch, nil, &Shortage{int(lacking) - len(launch), int(*p.Replicas), *none}
		}
		launch = append(launch, fresh)
	}
	return launch, nil, nil
}

// Shortage is that machines of a static pool cannot be launched.
type Shortage struct {
	Missing, Replicas int
	Reason            plan.Reason
}

func (s *Shortage) String() string {
	return fmt.Sprintf("%d of %s missing: %s", s.Missing, plan.Count(s.Replicas, "machine"), s.Reason.Message())
}

// cheapest orders machines, those first that are cordoned or cost the least to move.
func cheapest(s *snapshot.Snapshot, list []*snapshot.Node) []*snapshot.Node {
	budgets := eviction.NewBudgets(s.PDBs)
	protected, cost := map[*snapshot.Node]bool{}, map[*snapshot.Node]float64{}
	for _, n := range list {
		protected[n] = waits(s, n, budgets)
		if n.Initialized() {
			cost[n] = n.MoveCost()
		}
	}
	slices.SortFunc(list, func(a, b *snapshot.Node) int {
		return cmp.Or(
			rank(protected[a])-rank(protected[b]),
			rank(cordoned(b))-rank(cordoned(a)),
			cmp.Compare(cost[a], cost[b]),
			b.Claim.Created.Compare(a.Claim.Created),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return list
}

func cordoned(n *snapshot.Node) bool { return n.Object != nil && n.Object.Spec.Unschedulable }

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// waits reports whether the drain of a machine would wait for something that may never end.
func waits(s *snapshot.Snapshot, n *snapshot.Node, budgets *eviction.Budgets) bool {
	if n.Object != nil && n.Object.Annotations[eviction.DoNotDisruptAnnotation] == "true" || n.Claim.Annotations[eviction.DoNotDisruptAnnotation] == "true" {
		return true
	}
	return slices.ContainsFunc(n.Pods, func(p *snapshot.Pod) bool {
		_, protected := eviction.Protected(p.Pod, s.Now)
		return protected || eviction.Evictable(p.Pod, s.Now) && len(budgets.Blocking(p.Pod)) > 0
	})
}
