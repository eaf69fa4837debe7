package consolidation

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/offer"
	"github.com/millwright-dev/millwright/bench/workload"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/idle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Autoscaler is an engine with one cluster, pods that wait included.
type Autoscaler interface {
	Session
	// Provision finds machines for pods that wait.
	Provision(ctx context.Context, now time.Time, waiting []*corev1.Pod) (Move, error)
	// Touched tells of a machine whose pods or whose claim have changed.
	Touched(m *Machine)
}

// Regime is how a day's cluster is run.
type Regime struct {
	Name        string
	Consolidate karpv1.ConsolidationPolicy
	// Policy is the NodePolicy's, of Millwright only; Karpenter is true if it is Karpenter that runs it.
	Policy    snapshot.DisruptionPolicy
	Karpenter bool
}

// Regimes are those that a day is lived through with. The first is what the others'
// savings are counted against.
func Regimes() []Regime {
	return []Regime{
		{Name: "WhenEmpty", Consolidate: karpv1.ConsolidationPolicyWhenEmpty},
		{Name: "WhenEmptyOrUnderutilized", Consolidate: karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized},
		{Name: "Balanced", Consolidate: karpv1.ConsolidationPolicyBalanced},
		{
			Name: "WhenEmptyOrUnderutilized, calm", Consolidate: karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
			Policy: snapshot.DisruptionPolicy{MinNodeAge: 30 * time.Minute, WorkloadCooldown: 10 * time.Minute, PaybackTime: 2 * time.Hour, PodMoveCost: 0.002, MinSaving: 0.05, LoopFreeze: new(time.Hour)},
		},
	}
}

// OfKarpenter are the regimes that Karpenter knows, with Karpenter.
func OfKarpenter() []Regime {
	out := Regimes()[:3]
	for i := range out {
		out[i].Name, out[i].Karpenter = "Karpenter, "+out[i].Name, true
	}
	return out
}

// begin takes a cluster up.
func (g Regime) begin(ctx context.Context, c *Cluster) (Autoscaler, error) {
	if g.Karpenter {
		return theirsWith(ctx, c)
	}
	out := oursWith(c)
	out.pools[0].Policy.Disruption = g.Policy
	return out, nil
}

// Day is what came of a day, or of its first hours.
type Day struct {
	Regime string
	// Evictions are of pods that consolidation moved; Dollars is what all machines cost.
	Evictions int
	Dollars   float64
	// Launched are machines that pending pods needed. Empty and Moved are those of them that
	// were of a kind of which consolidation had removed one within ten minutes before, because
	// it was empty or by moving its pods; each removed machine comes back once at most.
	Launched, Empty, Moved int
}

// step is the time between two looks at the cluster.
const step = time.Minute

// again is how soon a machine must be launched to have come back.
const again = 10 * time.Minute

// Live lives through the first hours of a day of web, cron and batch load in virtual time.
// Machines and pods start at once, and pods run where the engine has planned them.
func Live(ctx context.Context, g Regime, list []*catalog.Type, seed uint64, hours int) (Day, error) {
	pools := ready(workload.OnePool())
	pools[0].Spec.Disruption.ConsolidationPolicy = g.Consolidate
	pools[0].Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("2m")
	c, err := NewCluster(pools, list)
	if err != nil {
		return Day{}, err
	}
	engine, err := g.begin(ctx, c)
	if err != nil {
		return Day{}, err
	}
	l := &living{Cluster: c, engine: engine, dice: rand.New(rand.NewPCG(seed, 24)), day: Day{Regime: g.Name}, ends: map[types.UID]time.Time{}, removed: map[offer.Key][]removal{}}
	for at := bench.Now; at.Before(bench.Now.Add(time.Duration(hours) * time.Hour)); at = at.Add(step) {
		l.now = at
		l.load()
		if err := l.provision(ctx); err != nil {
			return l.day, err
		}
		if err := l.consolidate(ctx); err != nil {
			return l.day, err
		}
		l.day.Dollars += c.PricePerHour() * step.Hours()
	}
	return l.day, nil
}

// living is a cluster in the middle of its day.
type living struct {
	*Cluster
	engine  Autoscaler
	dice    *rand.Rand
	now     time.Time
	day     Day
	serial  int
	pending []*corev1.Pod
	// web are the pods of each Deployment, the oldest first; ends is when pods of Jobs do.
	web     [12][]*corev1.Pod
	ends    map[types.UID]time.Time
	removed map[offer.Key][]removal
}

// removal is of a machine, with pods or without.
type removal struct {
	at    time.Time
	empty bool
}

// touch notes a pod event on a machine.
func (l *living) touch(m *Machine) {
	streak := idle.StreakOf(m.Claim.Annotations).Next(m.Claim.Status.LastPodEventTime.Time, l.now, l.Pools[0].Spec.Disruption.ConsolidateAfter.Duration)
	metav1.SetMetaDataAnnotation(&m.Claim.ObjectMeta, idle.StreakAnnotation, streak.String())
	m.Claim.Status.LastPodEventTime = metav1.NewTime(l.now)
	l.engine.Touched(m)
}

// provision finds machines for the pods that wait.
func (l *living) provision(ctx context.Context) error {
	if len(l.pending) == 0 {
		return nil
	}
	m, err := l.engine.Provision(ctx, l.now, l.pending)
	if err != nil {
		return err
	}
	if _, err := l.apply(ctx, m, l.pending...); err != nil {
		return err
	}
	l.pending = nil
	for _, n := range m.Launch {
		l.day.Launched++
		i := slices.IndexFunc(l.removed[n.Key], func(r removal) bool { return l.now.Sub(r.at) <= again })
		if i < 0 {
			continue
		}
		if l.removed[n.Key][i].empty {
			l.day.Empty++
		} else {
			l.day.Moved++
		}
		l.removed[n.Key] = slices.Delete(l.removed[n.Key], i, i+1)
	}
	return nil
}

// consolidate decides once and carries it out.
func (l *living) consolidate(ctx context.Context) error {
	read, err := l.engine.Decide(ctx, l.now)
	if err != nil {
		return err
	}
	moves, err := read()
	if err != nil {
		return err
	}
	for _, m := range moves {
		change, err := l.apply(ctx, m)
		if err != nil {
			return err
		}
		l.day.Evictions += len(change.Moved)
		for _, gone := range change.Gone {
			l.removed[gone.Offer.Key] = append(l.removed[gone.Offer.Key], removal{l.now, len(gone.Pods) == 0})
		}
	}
	return nil
}

// apply carries a move out, and tells the engine of it.
func (l *living) apply(ctx context.Context, m Move, waiting ...*corev1.Pod) (Change, error) {
	change, err := l.Apply(m, l.now, waiting...)
	if err != nil {
		return change, err
	}
	if err := l.engine.Follow(ctx, change); err != nil {
		return change, err
	}
	touched := map[string]bool{}
	for _, p := range change.Moved {
		touched[p.Spec.NodeName] = true
	}
	for _, m := range l.Sorted() {
		if touched[m.Name] {
			l.touch(m)
		}
	}
	return change, nil
}
