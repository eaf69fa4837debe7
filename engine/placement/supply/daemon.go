package supply

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Daemon is a DaemonSet as placement sees it: what it takes of every node that it
// runs on.
type Daemon struct {
	*snapshot.DaemonSet
	// Node is what its pods demand; nothing accepts them if that cannot be understood.
	Node *demand.Node
	// Tokens are what its pods have on their nodes.
	Tokens []pack.Token
}

func (s *Supply) newDaemon(d *snapshot.DaemonSet) *Daemon {
	out := &Daemon{DaemonSet: d, Node: demand.NodeOf(d.Pod.Class.Terms, withOwnTolerations(d.Pod.Class.Tolerations)), Tokens: s.TokensOf(d.Pod.Class.Shape)}
	if d.Pod.Class.Invalid != "" {
		out.Node.Terms = nil
	}
	return out
}

// withOwnTolerations adds those that the DaemonSet controller gives its pods.
func withOwnTolerations(list []corev1.Toleration) []corev1.Toleration {
	exists := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	return append(slices.Clip(list),
		exists(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		exists(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
		exists(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
	)
}

// runsOn reports whether one of the DaemonSet's pods is on the node already.
func (d *Daemon) runsOn(n *snapshot.Node) bool {
	return slices.ContainsFunc(n.Pods, func(p *snapshot.Pod) bool { return !p.Terminal() && d.Owns(p) })
}

// Overheads are the different sets of DaemonSets that so many places carry, and which of
// them each does.
func (s *Supply) Overheads(places int, runs func(*Daemon) bitset.Set) (list []Overhead, of []int32) {
	list, of = []Overhead{s.overheadOf(nil)}, make([]int32, places)
	for d, daemon := range s.Daemons {
		joined := map[int32]int32{}
		for i := range runs(daemon).All() {
			id, ok := joined[of[i]]
			if !ok {
				id = int32(len(list))
				joined[of[i]], list = id, append(list, s.overheadOf(append(slices.Clip(list[of[i]].Daemons), d)))
			}
			of[i] = id
		}
	}
	return list, of
}

func (s *Supply) overheadOf(set []int) Overhead {
	o := Overhead{Daemons: set, Need: make([]int64, len(s.Dims.Names))}
	for _, d := range set {
		vector.Add(o.Need, s.Dims.Need(s.Daemons[d].Pod.Class.Requests), 1)
		o.Present = append(o.Present, s.Daemons[d].Tokens...)
	}
	slices.Sort(o.Present)
	o.Present = slices.Compact(o.Present)
	return o
}
