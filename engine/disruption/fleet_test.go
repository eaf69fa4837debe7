package disruption

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// cluster is a pool of machines of one type that are about half full.
func cluster(nodes int, seed uint64) *snapshot.Snapshot {
	random := rand.New(rand.NewPCG(seed, 0))
	types := enginetest.Catalogue(32)
	pool := enginetest.Pool("general", types, enginetest.OnDemand())
	after := time.Duration(0)
	pool.Disruption = snapshot.Disruption{ConsolidateAfter: &after, Policy: "WhenEmptyOrUnderutilized", Budgets: []snapshot.Budget{{Nodes: "10%"}}}
	var classes snapshot.Classes
	s := &snapshot.Snapshot{Now: noon, Pools: []*snapshot.Pool{pool}}
	var fits []*catalog.Type
	for _, t := range types {
		capacity := t.Capacity
		if c := capacity.Cpu().Value(); c >= 4 && c <= 16 && len(t.Offerings) > 0 {
			fits = append(fits, t)
		}
	}
	for i := range nodes {
		t := fits[random.IntN(len(fits))]
		o := &t.Offerings[0]
		for i := range t.Offerings {
			if t.Offerings[i].CapacityType == catalog.OnDemand {
				o = &t.Offerings[i]
			}
		}
		n := machineOf(fmt.Sprintf("node-%05d", i), "general", catalog.Choice{Type: t, Offering: o})
		allocatable := t.Allocatable()
		budget := allocatable.Cpu().MilliValue() / 2
		for j := 0; budget > 0; j++ {
			cpu := int64(100 * (1 + random.IntN(10)))
			p := enginetest.Pod(fmt.Sprintf("p-%d-%d", i, j), cpu, cpu*2)
			p.Spec.NodeName = n.Name
			budget -= cpu
			n.Pods = append(n.Pods, classes.Pod(p))
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

func machineOf(name, pool string, c catalog.Choice) *snapshot.Node {
	long := snapshot.Condition{Status: corev1.ConditionTrue, Since: noon.Add(-time.Hour)}
	labels := c.Labels()
	labels[snapshot.PoolLabel], labels[snapshot.RegisteredLabel], labels[snapshot.InitializedLabel] = pool, "true", "true"
	labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelHostname] = c.Type.Name, name
	return &snapshot.Node{
		Name: name,
		Claim: &snapshot.Claim{Name: name, Pool: pool, Created: noon.Add(-time.Hour), Labels: labels, ProviderID: name, Conditions: map[string]snapshot.Condition{
			snapshot.Launched: long, snapshot.Registered: long, snapshot.Initialized: long,
		}},
		Object: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Status: corev1.NodeStatus{
				Capacity: c.Type.Capacity, Allocatable: c.Type.Allocatable(),
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		},
	}
}

// BenchmarkDecide makes the first pass over clusters that are half full.
func BenchmarkDecide(b *testing.B) {
	for _, nodes := range []int{100, 500, 2000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			s := cluster(nodes, 1)
			for b.Loop() {
				d := Decide(s, Options{})
				b.ReportMetric(float64(len(d.Commands)), "commands")
			}
		})
	}
}

// podFor is a running pod of so many CPUs.
func podFor(name, node string, cpus int) *corev1.Pod {
	p := enginetest.Pod(name, int64(cpus)*1000, 256)
	p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
	return p
}

// BenchmarkConverge goes on, decision after decision, until nothing more is found,
// and carries each out at once. It reports the price at the end, what machines
// bought anew for all pods would cost, and how often pods moved.
func BenchmarkConverge(b *testing.B) {
	for _, nodes := range []int{100, 500, 2000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			for b.Loop() {
				s := cluster(nodes, 1)
				before := spending(s)
				moved, rounds, quiet := 0, 0, 0
				for quiet < 3 {
					d := Decide(s, Options{})
					rounds++
					quiet++
					for _, c := range d.Commands {
						moved += carryOutAtOnce(s, c)
						quiet = 0
					}
					settle(s)
					s.Now = s.Now.Add(turn * time.Second)
				}
				b.ReportMetric(before, "$/h-before")
				b.ReportMetric(spending(s), "$/h")
				b.ReportMetric(anew(s), "$/h-anew")
				b.ReportMetric(float64(moved), "moves")
				b.ReportMetric(float64(rounds), "decisions")
				b.ReportMetric(float64(len(s.Nodes)), "nodes")
			}
		})
	}
}

func spending(s *snapshot.Snapshot) float64 {
	sum := 0.0
	for _, n := range s.Nodes {
		sum += Price(s.Pools[0], n)
	}
	return sum
}

// anew is the price of a plan for all pods on new machines.
func anew(s *snapshot.Snapshot) float64 {
	f := s.Fork()
	f.Nodes = nil
	for _, n := range s.Nodes {
		f.Pending = append(f.Pending, whatif.Movers(n)...)
	}
	return placement.Solve(f, placement.Options{}).PricePerHour()
}

// carryOutAtOnce replaces the machines of a command and leaves their pods pending.
func carryOutAtOnce(s *snapshot.Snapshot, c Command) (moved int) {
	for _, n := range c.Nodes {
		pods := whatif.Movers(n)
		moved += len(pods)
		s.Pending = append(s.Pending, pods...)
		s.Nodes = slices.DeleteFunc(s.Nodes, func(m *snapshot.Node) bool { return m.Name == n.Name })
	}
	for i := range c.Launch {
		s.Nodes = append(s.Nodes, machineOf(c.ReplacementName("general", i), "general", c.Launch[i].Choice))
	}
	slices.SortFunc(s.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	return moved
}

// settle binds what is pending, and launches what has no place.
func settle(s *snapshot.Snapshot) {
	p := placement.Solve(s, placement.Options{})
	s.Pending = nil
	for _, at := range p.Placements {
		at.Node.Pods = append(at.Node.Pods, at.Pod)
		at.Pod.Spec.NodeName = at.Node.Name
	}
	for i, n := range p.NewNodes {
		fresh := machineOf(fmt.Sprintf("extra-%d-%d", s.Now.Unix(), i), "general", n.Choice)
		for _, pod := range n.Pods {
			pod.Spec.NodeName = fresh.Name
		}
		fresh.Pods = n.Pods
		s.Nodes = append(s.Nodes, fresh)
	}
	slices.SortFunc(s.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
}
