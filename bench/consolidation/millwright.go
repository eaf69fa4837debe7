package consolidation

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench/offer"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Millwright is disruption with its default options.
type Millwright struct{}

// Name is Millwright.
func (Millwright) Name() string { return "Millwright" }

// Begin translates the pools, the machines and the pods, as the cluster's store keeps
// them.
func (Millwright) Begin(_ context.Context, c *Cluster) (Session, error) { return oursWith(c), nil }

func oursWith(c *Cluster) *ours {
	s := &ours{nodes: map[string]*snapshot.Node{}, options: placement.Options{Cache: &supply.Cache{}}}
	sorted := slices.SortedFunc(slices.Values(c.Types), func(a, b *catalog.Type) int { return cmp.Compare(a.Name, b.Name) })
	for _, np := range c.Pools {
		p := cluster.Pool(np, cluster.Options{Offline: true})
		p.Types = sorted
		s.pools = append(s.pools, p)
	}
	slices.SortFunc(s.pools, func(a, b *snapshot.Pool) int { return cmp.Compare(a.Name, b.Name) })
	for _, m := range c.Sorted() {
		s.add(m)
	}
	return s
}

// ours is Millwright with a cluster.
type ours struct {
	pools   []*snapshot.Pool
	nodes   map[string]*snapshot.Node
	classes snapshot.Classes
	options placement.Options
}

func (s *ours) add(m *Machine) {
	n := &snapshot.Node{Name: m.Name, Object: m.Node, Claim: cluster.Claim(m.Claim)}
	for _, p := range m.Pods {
		n.Pods = append(n.Pods, s.classes.Pod(p))
	}
	sortPods(n)
	s.nodes[m.Name] = n
}

func sortPods(n *snapshot.Node) {
	slices.SortFunc(n.Pods, func(a, b *snapshot.Pod) int { return cmp.Compare(a.Name, b.Name) })
}

func (s *ours) snapshot(now time.Time) *snapshot.Snapshot {
	out := &snapshot.Snapshot{Now: now, Pools: s.pools}
	for _, n := range s.nodes {
		out.Nodes = append(out.Nodes, n)
	}
	slices.SortFunc(out.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Decide takes a snapshot and decides.
func (s *ours) Decide(_ context.Context, now time.Time) (func() ([]Move, error), error) {
	world := s.snapshot(now)
	d := disruption.Decide(world, disruption.Options{Placement: s.options})
	return func() ([]Move, error) {
		s.note(world, d.Commands)
		return moves(d), nil
	}, nil
}

// Provision is one plan.
func (s *ours) Provision(_ context.Context, now time.Time, waiting []*corev1.Pod) (Move, error) {
	world := s.snapshot(now)
	for _, p := range waiting {
		world.Pending = append(world.Pending, s.classes.Pod(p))
	}
	p := placement.Solve(world, s.options)
	return move(p.NewNodes, p.Placements), nil
}

// Touched takes a machine up again.
func (s *ours) Touched(m *Machine) { s.add(m) }

// note keeps on the pools what is done, as the controller does.
func (s *ours) note(world *snapshot.Snapshot, commands []disruption.Command) {
	done := slices.Clone(commands)
	for i := range done {
		done[i].Step = disruption.Remove
	}
	for _, p := range s.pools {
		if noted := disruption.Note(world, done, p); noted != nil {
			p.Moves = noted
		}
	}
}

// moves translates commands. Empty machines have no pods that move.
func moves(d *disruption.Decision) []Move {
	var out []Move
	for _, c := range d.Commands {
		m := move(c.Launch, c.Placements)
		for _, n := range c.Nodes {
			m.Gone = append(m.Gone, n.Name)
		}
		out = append(out, m)
	}
	return out
}

func move(launch []plan.NewNode, placements []plan.Placement) Move {
	m := Move{Binds: map[types.UID]string{}}
	for _, n := range launch {
		l := Launch{Key: offer.Key{Pool: n.Pool, Type: n.Choice.Type.Name, Zone: n.Choice.Offering.Zone, CapacityType: n.Choice.Offering.CapacityType}}
		for _, p := range n.Pods {
			l.Pods = append(l.Pods, p.UID)
		}
		m.Launch = append(m.Launch, l)
	}
	for _, at := range placements {
		m.Binds[at.Pod.UID] = at.Node.Name
	}
	return m
}

// Follow keeps the machines up to date.
func (s *ours) Follow(_ context.Context, c Change) error {
	for _, m := range c.Gone {
		delete(s.nodes, m.Name)
	}
	for _, m := range c.Came {
		s.add(m)
	}
	fresh := map[string]bool{}
	for _, m := range c.Came {
		fresh[m.Name] = true
	}
	changed := map[string]*snapshot.Node{}
	for _, p := range c.Moved {
		if fresh[p.Spec.NodeName] {
			continue
		}
		n := changed[p.Spec.NodeName]
		if n == nil {
			was := *s.nodes[p.Spec.NodeName]
			was.Pods = slices.Clone(was.Pods)
			n = &was
			changed[n.Name], s.nodes[n.Name] = n, n
		}
		n.Pods = append(n.Pods, s.classes.Pod(p))
	}
	for _, n := range changed {
		sortPods(n)
	}
	return nil
}
