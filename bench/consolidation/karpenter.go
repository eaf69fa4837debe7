package consolidation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/millwright-dev/millwright/bench/karpenter"
	"github.com/millwright-dev/millwright/bench/offer"
)

// Karpenter is its emptiness, multi-node and single-node consolidation, in the order
// in which its controller asks them, without the 15 seconds for which it waits to
// validate each command. Its search is bounded by time: a minute for the multi-node
// method, three for the single-node one. Here that is the time of an idle machine
// (clock.go), so that what it finds does not depend on what else runs. Sessions share Karpenter's process-wide state and must not
// run at the same time.
type Karpenter struct{}

// Name is Karpenter.
func (Karpenter) Name() string { return "Karpenter" }

// Begin fills Karpenter's state of the cluster.
func (Karpenter) Begin(ctx context.Context, c *Cluster) (Session, error) {
	o, err := karpenter.Defaults()
	if err != nil {
		return nil, err
	}
	karpenter.RegisterLabels(c.Types)
	s := &theirs{
		cache: newCache(c.Pools), cloud: &provider{types: karpenter.InstanceTypes(c.Types)},
		recorder: events.NewRecorder(&record.FakeRecorder{}), clock: newWorkClock(), options: o,
	}
	s.cluster = state.NewCluster(s.clock, s.cache, s.cloud)
	p := provisioning.NewProvisioner(s.cache, s.recorder, s.cloud, s.cluster, s.clock, nil, nil)
	s.queue = disruption.NewQueue(s.cache, s.recorder, s.cluster, s.clock, p)
	common := disruption.MakeConsolidation(s.clock, s.cluster, s.cache, p, s.cloud, s.recorder, s.queue)
	valid := disruption.WithValidator(accept{})
	s.methods = []disruption.Method{
		disruption.NewEmptiness(common, valid),
		disruption.NewMultiNodeConsolidation(common, valid),
		disruption.NewSingleNodeConsolidation(common, valid),
	}
	return s, s.Follow(ctx, Change{Came: c.Sorted()})
}

// accept is the validation of a cluster in which nothing happens meanwhile.
type accept struct{}

func (accept) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}

// theirs is Karpenter with a cluster.
type theirs struct {
	cache    *cache
	cloud    *provider
	cluster  *state.Cluster
	queue    *disruption.Queue
	recorder events.Recorder
	clock    *workClock
	options  *options.Options
	methods  []disruption.Method
}

// Decide asks the methods in turn until one has a command.
func (s *theirs) Decide(ctx context.Context, _ time.Time) (func() ([]Move, error), error) {
	ctx = options.ToContext(injection.WithControllerName(ctx, "disruption"), s.options)
	for _, m := range s.methods {
		commands, err := s.ask(ctx, m)
		if err != nil || len(commands) > 0 {
			return func() ([]Move, error) { return theirMoves(commands) }, err
		}
	}
	return func() ([]Move, error) { return nil, nil }, nil
}

func (s *theirs) ask(ctx context.Context, m disruption.Method) ([]disruption.Command, error) {
	candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, s.cluster, s.cache, s.recorder, s.clock, s.cloud, m.ShouldDisrupt, m.Class(), s.queue, nil)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	if balanced, is := m.(disruption.NodePoolTotalsSetter); is {
		balanced.SetNodePoolTotals(totals)
	}
	budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, s.cluster, s.clock, s.cache, s.cloud, s.recorder, m.Reason())
	if err != nil {
		return nil, err
	}
	if _, multi := m.(*disruption.MultiNodeConsolidation); multi {
		limited, stop := s.clock.limit(ctx, disruption.MultiNodeConsolidationTimeoutDuration)
		defer stop()
		ctx = limited
	}
	commands, err := m.ComputeCommands(ctx, budgets, candidates...)
	if err != nil || len(commands) == 0 || commands[0].Decision() == disruption.NoOpDecision {
		return nil, err
	}
	return commands, nil
}

// theirMoves translates commands, each new machine as the cheapest that is allowed.
func theirMoves(commands []disruption.Command) ([]Move, error) {
	var out []Move
	for _, c := range commands {
		m := Move{Binds: map[types.UID]string{}}
		for _, n := range c.Candidates {
			m.Gone = append(m.Gone, n.Name())
		}
		for _, r := range c.Replacements {
			best, found := karpenter.Cheapest(r.NodeClaim)
			if !found {
				return nil, fmt.Errorf("a replacement that cannot be bought")
			}
			l := Launch{Key: offer.Key{Pool: best.Pool, Type: best.Type, Zone: best.Zone, CapacityType: best.CapacityType}}
			for _, p := range r.Pods {
				l.Pods = append(l.Pods, p.UID)
			}
			m.Launch = append(m.Launch, l)
		}
		for _, n := range c.Results.ExistingNodes {
			for _, p := range n.Pods {
				m.Binds[p.UID] = n.Name()
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// Follow does what Karpenter's informers do.
func (s *theirs) Follow(ctx context.Context, c Change) error {
	ctx = options.ToContext(ctx, s.options)
	for _, m := range c.Gone {
		s.cache.remove(m)
		for _, p := range m.Pods {
			s.cluster.DeletePod(client.ObjectKeyFromObject(p))
		}
		s.cluster.DeleteNode(m.Name)
		s.cluster.DeleteNodeClaim(m.Name)
	}
	for _, m := range c.Came {
		s.cache.add(m)
		s.cluster.UpdateNodeClaim(m.Claim)
		if err := s.cluster.UpdateNode(ctx, m.Node); err != nil {
			return fmt.Errorf("adding node: %w", err)
		}
		for _, p := range m.Pods {
			if err := s.bound(ctx, p); err != nil {
				return err
			}
		}
	}
	for _, p := range c.Moved {
		if err := s.bound(ctx, p); err != nil {
			return err
		}
	}
	s.cluster.MarkUnconsolidated()
	return nil
}

func (s *theirs) bound(ctx context.Context, p *corev1.Pod) error {
	s.cache.bind(p)
	if err := s.cluster.UpdatePod(ctx, p); err != nil {
		return fmt.Errorf("binding pod: %w", err)
	}
	return nil
}
