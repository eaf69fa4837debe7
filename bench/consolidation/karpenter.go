package consolidation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	duration "sigs.k8s.io/karpenter/pkg/utils/disruption"

	"github.com/millwright-dev/millwright/bench"
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
func (Karpenter) Begin(ctx context.Context, c *Cluster) (Session, error) { return theirsWith(ctx, c) }

func theirsWith(ctx context.Context, c *Cluster) (*theirs, error) {
	o, err := karpenter.Defaults()
	if err != nil {
		return nil, err
	}
	karpenter.RegisterLabels(c.Types)
	s := &theirs{
		cache: newCache(c.Pools), cloud: &provider{types: karpenter.InstanceTypes(c.Types)},
		recorder: events.NewRecorder(&record.FakeRecorder{}), clock: newWorkClock(bench.Now), options: o,
		claims: map[string]*karpv1.NodeClaim{},
	}
	s.cluster = state.NewCluster(s.clock, s.cache, s.cloud)
	s.provisioner = provisioning.NewProvisioner(s.cache, s.recorder, s.cloud, s.cluster, s.clock, nil, nil)
	s.queue = disruption.NewQueue(s.cache, s.recorder, s.cluster, s.clock, s.provisioner)
	common := disruption.MakeConsolidation(s.clock, s.cluster, s.cache, s.provisioner, s.cloud, s.recorder, s.queue)
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
	cache       *cache
	cloud       *provider
	cluster     *state.Cluster
	provisioner *provisioning.Provisioner
	queue       *disruption.Queue
	recorder    events.Recorder
	clock       *workClock
	options     *options.Options
	methods     []disruption.Method
	claims      map[string]*karpv1.NodeClaim
}

// Decide asks the methods in turn until one has a command.
func (s *theirs) Decide(ctx context.Context, now time.Time) (func() ([]Move, error), error) {
	ctx = options.ToContext(injection.WithControllerName(ctx, "disruption"), s.options)
	s.clock.set(now)
	s.consolidatable()
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
		var claims []*scheduling.NodeClaim
		for _, r := range c.Replacements {
			claims = append(claims, r.NodeClaim)
		}
		m, err := theirMove(claims, c.Results.ExistingNodes)
		if err != nil {
			return nil, err
		}
		for _, n := range c.Candidates {
			m.Gone = append(m.Gone, n.Name())
		}
		out = append(out, m)
	}
	return out, nil
}

func theirMove(claims []*scheduling.NodeClaim, existing []*scheduling.ExistingNode) (Move, error) {
	m := Move{Binds: map[types.UID]string{}}
	for _, c := range claims {
		best, found := karpenter.Cheapest(c)
		if !found {
			return m, fmt.Errorf("a machine that cannot be bought")
		}
		l := Launch{Key: offer.Key{Pool: best.Pool, Type: best.Type, Zone: best.Zone, CapacityType: best.CapacityType}}
		for _, p := range c.Pods {
			l.Pods = append(l.Pods, p.UID)
		}
		m.Launch = append(m.Launch, l)
	}
	for _, n := range existing {
		for _, p := range n.Pods {
			m.Binds[p.UID] = n.Name()
		}
	}
	return m, nil
}

// consolidatable keeps the condition of that name, as a controller of its own does.
func (s *theirs) consolidatable() {
	for _, p := range s.cache.pools {
		for _, c := range s.claims {
			if c.Labels[karpv1.NodePoolLabelKey] != p.Name {
				continue
			}
			conditions, under := c.StatusConditions(), duration.IsUnderConsolidateAfter(p, c, s.clock)
			if conditions.IsTrue(karpv1.ConditionTypeConsolidatable) != under {
				continue
			}
			if under {
				_ = conditions.Clear(karpv1.ConditionTypeConsolidatable)
			} else {
				conditions.SetTrue(karpv1.ConditionTypeConsolidatable)
			}
			s.cluster.UpdateNodeClaim(c)
		}
	}
}

// take takes up a claim, as a copy, because its conditions are changed here.
func (s *theirs) take(m *Machine) {
	s.claims[m.Name] = m.Claim.DeepCopy()
	s.cluster.UpdateNodeClaim(s.claims[m.Name])
}

// Provision is what its provisioner schedules. kube-scheduler has found no room for the pods.
func (s *theirs) Provision(ctx context.Context, now time.Time, waiting []*corev1.Pod) (Move, error) {
	ctx = options.ToContext(injection.WithControllerName(ctx, "provisioner"), s.options)
	s.clock.set(now)
	s.cache.wait(waiting)
	results, err := s.provisioner.Schedule(ctx)
	s.cache.wait(nil)
	if err != nil {
		return Move{}, fmt.Errorf("scheduling: %w", err)
	}
	return theirMove(results.NewNodeClaims, results.ExistingNodes)
}

// Touched does what its informers do when pods of a machine have come or gone.
func (s *theirs) Touched(m *Machine) {
	for _, pod := range s.cache.gone(m) {
		s.cluster.DeletePod(pod)
	}
	s.take(m)
	s.cluster.MarkUnconsolidated()
}

// Follow does what Karpenter's informers do.
func (s *theirs) Follow(ctx context.Context, c Change) error {
	ctx = options.ToContext(ctx, s.options)
	for _, m := range c.Gone {
		s.cache.remove(m)
		delete(s.claims, m.Name)
		for _, p := range m.Pods {
			s.cluster.DeletePod(client.ObjectKeyFromObject(p))
		}
		s.cluster.DeleteNode(m.Name)
		s.cluster.DeleteNodeClaim(m.Name)
	}
	for _, m := range c.Came {
		s.cache.add(m)
		s.take(m)
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
