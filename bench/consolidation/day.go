package consolidation

import (
	"context"
	"fmt"
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
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/disruption/idle"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Regime is how a day's cluster is consolidated.
type Regime struct {
	Name        string
	Consolidate karpv1.ConsolidationPolicy
	Policy      snapshot.DisruptionPolicy
}

// Regimes are those that a day is lived through with. The first is what the others'
// savings are counted against.
func Regimes() []Regime {
	return []Regime{
		{"WhenEmpty", karpv1.ConsolidationPolicyWhenEmpty, snapshot.DisruptionPolicy{}},
		{"WhenEmptyOrUnderutilized", karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized, snapshot.DisruptionPolicy{}},
		{"Balanced", disruption.Balanced, snapshot.DisruptionPolicy{}},
		{
			"WhenEmptyOrUnderutilized, calm", karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
			snapshot.DisruptionPolicy{MinNodeAge: 30 * time.Minute, WorkloadCooldown: 10 * time.Minute, PaybackTime: 2 * time.Hour, PodMoveCost: 0.002, MinSaving: 0.05},
		},
	}
}

// Day is what came of a day.
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

// Live lives through a day of web, cron and batch load in virtual time. Machines and
// pods start at once.
func Live(g Regime, list []*catalog.Type, seed uint64) (Day, error) {
	pools := workload.OnePool()
	pools[0].Spec.Disruption.ConsolidationPolicy = g.Consolidate
	pools[0].Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("2m")
	c, err := NewCluster(pools, list)
	if err != nil {
		return Day{}, err
	}
	session, err := Millwright{}.Begin(context.Background(), c)
	if err != nil {
		return Day{}, err
	}
	l := &living{Cluster: c, engine: session.(*ours), dice: rand.New(rand.NewPCG(seed, 24)), day: Day{Regime: g.Name}, ends: map[types.UID]time.Time{}, removed: map[offer.Key][]removal{}}
	l.engine.pools[0].Policy.Disruption = g.Policy
	for at := bench.Now; at.Before(bench.Now.Add(24 * time.Hour)); at = at.Add(step) {
		l.now = at
		l.load()
		if err := l.provision(); err != nil {
			return l.day, err
		}
		if err := l.consolidate(); err != nil {
			return l.day, err
		}
		l.day.Dollars += c.PricePerHour() * step.Hours()
	}
	return l.day, nil
}

// living is a cluster in the middle of its day.
type living struct {
	*Cluster
	engine  *ours
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
	streak := idle.StreakOf(m.Claim.Annotations).Next(m.Claim.Status.LastPodEventTime.Time, l.now, l.engine.pools[0].Disruption.ConsolidateAfter)
	metav1.SetMetaDataAnnotation(&m.Claim.ObjectMeta, idle.StreakAnnotation, streak.String())
	m.Claim.Status.LastPodEventTime = metav1.NewTime(l.now)
	l.engine.add(m)
}

// provision finds machines for the pods that wait.
func (l *living) provision() error {
	if len(l.pending) == 0 {
		return nil
	}
	s := l.engine.snapshot(l.now)
	pods := map[types.UID]*corev1.Pod{}
	for _, p := range l.pending {
		pods[p.UID] = p
		s.Pending = append(s.Pending, l.engine.classes.Pod(p))
	}
	p := placement.Solve(s, l.engine.options)
	if len(p.Unplaced) > 0 {
		return fmt.Errorf("%d pods have no machine", len(p.Unplaced))
	}
	for _, at := range p.Placements {
		m := l.Machines[at.Node.Name]
		l.bind(m, pods[at.Pod.UID])
		l.touch(m)
	}
	for _, n := range p.NewNodes {
		k := offer.Key{Pool: n.Pool, Type: n.Choice.Type.Name, Zone: n.Choice.Offering.Zone, CapacityType: n.Choice.Offering.CapacityType}
		m, err := l.Add(k, l.now)
		if err != nil {
			return err
		}
		for _, pod := range n.Pods {
			l.bind(m, pods[pod.UID])
		}
		l.touch(m)
		l.day.Launched++
		if i := slices.IndexFunc(l.removed[k], func(r removal) bool { return l.now.Sub(r.at) <= again }); i >= 0 {
			if l.removed[k][i].empty {
				l.day.Empty++
			} else {
				l.day.Moved++
			}
			l.removed[k] = slices.Delete(l.removed[k], i, i+1)
		}
	}
	l.pending = nil
	return nil
}

func (l *living) bind(m *Machine, p *corev1.Pod) {
	start := metav1.NewTime(l.now)
	m.Bind(p).Status.StartTime = &start
}

// consolidate decides once and carries it out.
func (l *living) consolidate() error {
	s := l.engine.snapshot(l.now)
	d := disruption.Decide(s, disruption.Options{Placement: l.engine.options})
	l.engine.note(s, d.Commands)
	for i, m := range moves(d) {
		c := d.Commands[i]
		for _, name := range m.Gone {
			key := l.Machines[name].Offer.Key
			l.removed[key] = append(l.removed[key], removal{l.now, c.Cause == disruption.Empty})
		}
		change, err := l.Apply(m, l.now)
		if err != nil {
			return err
		}
		l.day.Evictions += len(change.Moved)
		if err := l.engine.Follow(context.Background(), change); err != nil {
			return err
		}
		touched := map[string]bool{}
		for _, p := range change.Moved {
			start := metav1.NewTime(l.now)
			p.Status.StartTime = &start
			touched[p.Spec.NodeName] = true
		}
		for _, m := range l.Sorted() {
			if touched[m.Name] {
				l.touch(m)
			}
		}
	}
	return nil
}

// Days lives through a day under each regime.
func Days(list []*catalog.Type, seed uint64) ([]Day, error) {
	var out []Day
	for _, g := range Regimes() {
		d, err := Live(g, list, seed)
		if err != nil {
			return out, fmt.Errorf("%s: %w", g.Name, err)
		}
		out = append(out, d)
	}
	return out, nil
}
