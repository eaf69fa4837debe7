// Package millwright drives our own placement: the pure function that the
// controller calls.
//
// Timed for every solve: the equivalence classes of the pods, the snapshot, what the
// pools leave of the catalogue, and the plan. Not timed: the translation of the
// pools, and, from the second solve on, the catalogue in the form in which placement
// reads it. The controller keeps both until they change.
package millwright

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Engine is placement with its default options.
type Engine struct{}

// Name is Millwright.
func (Engine) Name() string { return "Millwright" }

// Prepare translates the pools and sorts the catalogue.
func (Engine) Prepare(p *bench.Problem) (bench.Solve, error) {
	types := slices.SortedFunc(slices.Values(p.Types), func(a, b *catalog.Type) int { return strings.Compare(a.Name, b.Name) })
	var pools []*snapshot.Pool
	for _, np := range p.Pools {
		pool := cluster.Pool(np, cluster.Options{Offline: true})
		pool.Types = types
		pools = append(pools, pool)
	}
	slices.SortFunc(pools, func(a, b *snapshot.Pool) int { return strings.Compare(a.Name, b.Name) })
	options := placement.Options{Cache: &supply.Cache{}}
	return func(context.Context) (func() *bench.Outcome, error) {
		result := placement.Solve(newSnapshot(p, pools), options)
		return func() *bench.Outcome { return outcome(result) }, nil
	}, nil
}

func newSnapshot(p *bench.Problem, pools []*snapshot.Pool) *snapshot.Snapshot {
	var classes snapshot.Classes
	s := &snapshot.Snapshot{Now: bench.Now, Pools: pools, Pending: make([]*snapshot.Pod, len(p.Pods))}
	for i, pod := range p.Pods {
		s.Pending[i] = classes.Pod(pod)
	}
	for _, ds := range p.DaemonSets {
		pod := &corev1.Pod{Spec: ds.Spec.Template.Spec}
		pod.Namespace, pod.Labels = ds.Namespace, ds.Spec.Template.Labels
		s.DaemonSets = append(s.DaemonSets, &snapshot.DaemonSet{DaemonSet: ds, Pod: classes.Pod(pod)})
	}
	return s
}

func outcome(p *plan.Plan) *bench.Outcome {
	out := &bench.Outcome{}
	for _, n := range p.NewNodes {
		m := bench.Machine{
			Pool: n.Pool, Type: n.Choice.Type.Name,
			Zone: n.Choice.Offering.Zone, CapacityType: n.Choice.Offering.CapacityType,
			Price: n.Choice.Offering.Price,
		}
		for _, pod := range n.Pods {
			m.Pods = append(m.Pods, pod.UID)
		}
		out.Machines = append(out.Machines, m)
	}
	return out
}
