package nomination

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Pods that request the same and may use the same machines are interchangeable, whatever else
// tells their classes apart, so those of one kind need no nominations. Let contending classes be
// those that may use machines of the same pools, and c a kind of them. If all pods but those of
// c are bound or nominated, the plan leaves on each machine n room for slots(n) pods of c, and
//
//	Σ slots(n) ≥ pods(c)
//
// as the plan has a slot for each. Whichever slots kube-scheduler takes, as many are left as
// there are pods that wait. This holds if
//
//   - no spread, affinity or anti-affinity is declared by c or selects it: otherwise the
//     slots depend on which of them are taken;
//   - no contending class declares a required spread: its pods are nominated in turn, so not
//     all that wait have a nomination;
//   - priority(c) ≤ priority(d) for every contending class d: kube-scheduler keeps the room
//     of nominated pods against their equals and inferiors only;
//   - c mounts no volume claims and no devices, which tell its pods apart.
//
// Of the kinds that qualify, the one with the most pods to be nominated is left to
// kube-scheduler, or several if their pods fit in any order (order.go), once the Nodes of all
// take pods. While one does not, the pods planned for it take any room on others, nominated or
// not. So Nodes that are ready within a moment open together, and on one that opens before
// others the pods of c are nominated as well (hold.go).
//
// Which of them runs is another matter: kube-scheduler lets a pod that it has refused pause for
// up to ten seconds, and gives its place to one that comes meanwhile. Of pods that come one by one
// the same can lose one machine after the other. So a Node that was launched with others for Few
// pods takes none until all that are planned for it are nominated. It waits only for those of the same
// plan then, as the room that the plan counts on is kept.

// Few is how many pods that is at most, unless some go in turn: as many nominations are written
// within a second.
const Few = 100

// contest is a set of contending classes.
type contest struct {
	// free are the classes that are left to kube-scheduler.
	free map[*snapshot.Class]bool
	// turns says that some pods are nominated in turn.
	turns bool
	// closed are the machines planned for the pods of the others that are not about to take
	// pods yet, waiting those that could.
	closed, waiting []*snapshot.Node
}

// contend finds the sets of contending classes.
func (m *memo) contend(s *snapshot.Snapshot, pods []*snapshot.Pod) {
	classes := count(s, pods)
	var rules []*topology.Rule
	for _, t := range classes {
		t.kind, t.rules = Kind(t.class), m.rulesOf(t.class)
		rules = append(rules, t.rules...)
	}
	machines := sync.OnceValue(func() []*machine { return m.machines(s) })
	for _, set := range contending(s, classes) {
		of := &contest{free: map[*snapshot.Class]bool{}, turns: inTurns(set)}
		m.all = append(m.all, of)
		for _, t := range leftToScheduler(machines, set, rules) {
			of.free[t.class] = true
		}
		for _, t := range set {
			m.contests[t.class] = of
		}
	}
}

// leftToScheduler are those of contending classes whose pods need no nominations.
func leftToScheduler(machines func() []*machine, set []*contender, rules []*topology.Rule) []*contender {
	qualified := slices.DeleteFunc(slices.Clone(set), func(c *contender) bool { return !c.qualifies(set, rules) })
	one := largestKind(qualified)
	if len(one) == len(qualified) {
		return one
	}
	counted := slices.DeleteFunc(slices.Clone(machines()), func(m *machine) bool {
		return !slices.ContainsFunc(set, func(t *contender) bool { return m.planned[t.class] > 0 })
	})
	if several := inAnyOrder(counted, qualified); saved(several) > saved(one) {
		return several
	}
	return one
}

// largestKind are the interchangeable classes with the most pods to be nominated.
func largestKind(classes []*contender) []*contender {
	var largest []*contender
	byKind := map[string][]*contender{}
	for _, t := range classes {
		byKind[t.kind] = append(byKind[t.kind], t)
		if len(largest) == 0 || saved(byKind[t.kind]) > saved(largest) {
			largest = byKind[t.kind]
		}
	}
	return largest
}

// Kind is equal for classes whose pods request the same and may use the same machines, whatever runs
// there and may be preempted for them; empty if their pods differ, by volumes, devices or rules about
// other pods.
func Kind(c *snapshot.Class) string {
	rules, err := topology.DemandsOf(c.Shape, nil)
	if err != nil || len(c.VolumeClaims) > 0 || len(c.Devices) > 0 || slices.ContainsFunc(rules, func(d topology.Demand) bool { return d.Weight == 0 }) {
		return ""
	}
	b := fmt.Appendf(nil, "%d %v %v", c.Priority, c.HostPorts, c.Disks)
	for _, t := range c.Tolerations {
		b = fmt.Appendf(b, "\n%q %s %q %s", t.Key, t.Operator, t.Value, t.Effect)
	}
	for _, t := range c.Terms {
		b = append(append(b, '\n'), t.Exact()...)
	}
	for _, a := range c.Requests {
		b = fmt.Appendf(b, "\n%s %g", a.Name, a.Quantity.AsApproximateFloat64())
	}
	return string(b)
}

// inTurns reports whether a class declares a required spread.
func inTurns(classes []*contender) bool {
	return slices.ContainsFunc(classes, func(t *contender) bool {
		return slices.ContainsFunc(t.rules, func(r *topology.Rule) bool { return r.Kind == topology.Spread })
	})
}

// saved is how many nominations need not be written.
func saved(classes []*contender) int {
	sum := 0
	for _, t := range classes {
		sum += t.open
	}
	return sum
}

// contender is a class with the number of its planned pods, and of those that have no nomination.
type contender struct {
	class      *snapshot.Class
	kind       string
	rules      []*topology.Rule
	pods, open int
}

// count counts the pods of each class, in the order of the keys. Pods that are expected have no nomination.
func count(s *snapshot.Snapshot, pods []*snapshot.Pod) []*contender {
	byClass := map[*snapshot.Class]*contender{}
	var out []*contender
	for _, p := range pods {
		t := byClass[p.Class]
		if t == nil {
			t = &contender{class: p.Class}
			byClass[p.Class] = t
			out = append(out, t)
		}
		t.pods++
		if p.Status.NominatedNodeName == "" {
			t.open++
		}
	}
	for _, e := range s.Expected {
		if t := byClass[e.Like.Class]; t != nil {
			t.pods, t.open = t.pods+e.Count, t.open+e.Count
		}
	}
	slices.SortFunc(out, func(a, b *contender) int { return cmp.Compare(a.class.Key, b.class.Key) })
	return out
}

func (t *contender) qualifies(contending []*contender, rules []*topology.Rule) bool {
	return t.kind != "" && !inTurns(contending) &&
		!slices.ContainsFunc(rules, func(r *topology.Rule) bool { return r.Selects(t.class.Shape) }) &&
		!slices.ContainsFunc(contending, func(o *contender) bool { return o.class.Priority < t.class.Priority })
}

// contending divides classes into sets that have no pool in common. A class whose pods may
// use no pool is alone.
func contending(s *snapshot.Snapshot, classes []*contender) [][]*contender {
	set := make([]int, len(classes)) // by class, the number of its set
	for i := range set {
		set[i] = i
	}
	for _, pool := range s.Pools {
		first := -1
		for i, t := range classes {
			switch {
			case !mayUse(t.class, pool):
			case first < 0:
				first = set[i]
			default:
				merge(set, set[i], first)
			}
		}
	}
	byID := make([][]*contender, len(classes))
	for i, t := range classes {
		byID[set[i]] = append(byID[set[i]], t)
	}
	return slices.DeleteFunc(byID, func(s []*contender) bool { return len(s) == 0 })
}

func merge(set []int, from, to int) {
	for i := range set {
		if set[i] == from {
			set[i] = to
		}
	}
}

// mayUse reports whether pods of a class may run on machines of a pool, as far as the pool
// says; what it leaves open may be as they want it.
func mayUse(c *snapshot.Class, pool *snapshot.Pool) bool {
	if _, kept := taints.Untolerated(pool.Taints, c.Tolerations); kept {
		return false
	}
	machines := pool.Requirements.With(requirement.Must(snapshot.PoolLabel, requirement.In, pool.Name))
	open := func(string) bool { return true }
	for _, term := range c.Terms {
		if _, conflict := machines.Conflict(term, open); !conflict {
			return true
		}
	}
	return false
}
