package millwright

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/offer"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// arrivals are the waves of a problem that have come, and what was planned for them.
type arrivals struct {
	problem *bench.Problem
	pools   []*snapshot.Pool
	offers  map[offer.Key]*offer.Offer
	classes snapshot.Classes
	plans   []*plan.Plan
	// came counts the pods of earlier waves and of this one, nodes are machines with their pods;
	// both are kept only where more waves follow.
	came  int
	nodes []*snapshot.Node
}

// snapshot is the cluster when a wave has come.
func (a *arrivals) snapshot(wave []*corev1.Pod) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Now: bench.Now, Pools: a.pools, Nodes: a.nodes, Pending: make([]*snapshot.Pod, len(wave))}
	for i, pod := range wave {
		s.Pending[i] = a.classes.Pod(pod)
	}
	for _, ds := range a.problem.DaemonSets {
		pod := &corev1.Pod{Spec: ds.Spec.Template.Spec}
		pod.Namespace, pod.Labels = ds.Namespace, ds.Spec.Template.Labels
		s.DaemonSets = append(s.DaemonSets, &snapshot.DaemonSet{DaemonSet: ds, Pod: a.classes.Pod(pod)})
	}
	a.came += len(wave)
	s.Expected = a.expected(s.Pending)
	return s
}

// expected are the pods that are still to come of the controllers of pods that wait.
func (a *arrivals) expected(pending []*snapshot.Pod) []snapshot.Expected {
	missing := map[types.UID]int{}
	for _, pod := range a.problem.Pods[a.came:] {
		if owner := metav1.GetControllerOf(pod); owner != nil {
			missing[owner.UID]++
		}
	}
	var out []snapshot.Expected
	for _, pod := range pending {
		owner := metav1.GetControllerOf(pod)
		if owner == nil || missing[owner.UID] == 0 {
			continue
		}
		out = append(out, snapshot.Expected{Like: pod, Count: missing[owner.UID]})
		delete(missing, owner.UID)
	}
	return out
}

// launch carries a plan out.
func (a *arrivals) launch(p *plan.Plan) {
	a.plans = append(a.plans, p)
	if a.came == len(a.problem.Pods) {
		return
	}
	bind := func(n *snapshot.Node, pod *snapshot.Pod) {
		bound := *pod.Pod
		bound.Spec.NodeName = n.Name
		bound.Status = corev1.PodStatus{Phase: corev1.PodRunning}
		n.Pods = append(n.Pods, a.classes.Pod(&bound))
	}
	for _, n := range p.NewNodes {
		node, claim := a.offers[keyOf(n)].Machine(nodeName(len(a.nodes)), bench.Now)
		fresh := &snapshot.Node{Name: node.Name, Object: node, Claim: cluster.Claim(claim)}
		for _, pod := range n.Pods {
			bind(fresh, pod)
		}
		a.nodes = append(a.nodes, fresh)
	}
	for _, at := range p.Placements {
		bind(at.Node, at.Pod)
	}
}

// nodeName sorts like the number.
func nodeName(i int) string { return fmt.Sprintf("node-%06d", i) }

func keyOf(n plan.NewNode) offer.Key {
	return offer.Key{Pool: n.Pool, Type: n.Choice.Type.Name, Zone: n.Choice.Offering.Zone, CapacityType: n.Choice.Offering.CapacityType}
}

// outcome is what all plans come to.
func (a *arrivals) outcome() *bench.Outcome {
	out, byName := &bench.Outcome{}, map[string]int{}
	for _, p := range a.plans {
		for _, n := range p.NewNodes {
			m := bench.Machine{
				Pool: n.Pool, Type: n.Choice.Type.Name,
				Zone: n.Choice.Offering.Zone, CapacityType: n.Choice.Offering.CapacityType,
				Price: n.Choice.Offering.Price,
			}
			for _, pod := range n.Pods {
				m.Pods = append(m.Pods, pod.UID)
			}
			byName[nodeName(len(out.Machines))] = len(out.Machines)
			out.Machines = append(out.Machines, m)
		}
		for _, at := range p.Placements {
			m := &out.Machines[byName[at.Node.Name]]
			m.Pods = append(m.Pods, at.Pod.UID)
		}
	}
	return out
}
