package nomination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// A nomination cannot promise a place: kube-scheduler forgets those of pods that it
// finds no node for, and of pods that a spread compares it bears few on a node. Where the policy
// of a pool demands it, a new Node therefore begins with a taint that only the pods planned
// for it tolerate, and loses it when they are bound. Kubernetes lets tolerations be added to
// a pod that waits; they stay when the taint is gone, and mean nothing then.

// For how long after its registration a Node is kept for a pod that it was launched for.
const (
	// Admission is the time for a pod that does not tolerate the taint: it may be that
	// Millwright is not permitted to change that.
	Admission = time.Minute
	// PlannedFor is the time for a pod that does.
	PlannedFor = 5 * time.Minute
)

// PlannedTaint keeps all but the pods that tolerate it off the Node of a claim.
func PlannedTaint(c *snapshot.Claim) corev1.Taint {
	return corev1.Taint{Key: snapshot.PlannedTaint, Value: string(c.UID), Effect: corev1.TaintEffectNoSchedule}
}

func tolerationOf(c *snapshot.Claim) corev1.Toleration {
	return corev1.Toleration{Key: snapshot.PlannedTaint, Operator: corev1.TolerationOpEqual, Value: string(c.UID), Effect: corev1.TaintEffectNoSchedule}
}

// admitted reports whether a pod tolerates the taint of a claim's Node.
func admitted(p *snapshot.Pod, c *snapshot.Claim) bool {
	return slices.Contains(p.Spec.Tolerations, tolerationOf(c))
}

// admission is what a pod needs for a machine that takes first the pods planned for it.
func admission(p *snapshot.Pod, n *snapshot.Node, m *memo) Change {
	c := Change{Pod: p, Why: Planned, share: m.share(p, n)}
	if !admitted(p, n.Claim) {
		t := tolerationOf(n.Claim)
		c.Admit = &t
	}
	return c
}

// Awaited are the pods that still wait of those that the Node of a claim takes first, in
// order. The latest plan has them there; one that it does not know, as after a restart,
// tolerates the taint.
func Awaited(s *snapshot.Snapshot, c *snapshot.Claim) []*snapshot.Pod {
	var out []*snapshot.Pod
	for _, p := range s.Pending {
		node, known := s.Nominated[key(p)]
		here := node != "" && (node == c.Name || node == c.NodeName) || !known && admitted(p, c)
		if here && open(p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, snapshot.ComparePods)
	return out
}

// PlannedFirst reports whether a new Node is to begin with the taint if pods are awaited.
// A spread that counts only nodes whose taints its pods tolerate would miss the others.
func PlannedFirst(awaited []*snapshot.Pod) bool {
	return len(awaited) > 0 && !slices.ContainsFunc(awaited, func(p *snapshot.Pod) bool {
		return slices.ContainsFunc(p.Class.Spread, func(c corev1.TopologySpreadConstraint) bool {
			return c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
		})
	})
}

// AwaitedUntil is until when the Node of a claim, registered at a time, is kept for pods at
// the latest, zero if there are none.
func AwaitedUntil(pods []*snapshot.Pod, c *snapshot.Claim, registered time.Time) time.Time {
	var until time.Time
	for _, p := range pods {
		lifetime := Admission
		if admitted(p, c) {
			lifetime = PlannedFor
		}
		until = snapshot.Latest(until, registered.Add(lifetime))
	}
	return until
}

// plannedFirst reports whether a machine takes the pods first that are planned for it, and
// is still to be opened for others.
func (m *memo) plannedFirst(n *snapshot.Node) bool {
	tainted := func(t corev1.Taint) bool { return t.Key == snapshot.PlannedTaint }
	return slices.ContainsFunc(n.Object.Spec.Taints, tainted) || joining(n) && m.first[n.Claim.Pool]
}

// firstPools are the pools whose new Nodes take first the pods that they were launched for.
func firstPools(s *snapshot.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, p := range s.Pools {
		if p.Policy.Initialization.PlannedFirst {
			out[p.Name] = true
		}
	}
	return out
}
