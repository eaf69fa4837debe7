package lifecycle

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Uninitialized is the taint with which a kubelet joins a cluster that has a cloud
// controller manager, and which that one removes when it knows the machine.
var Uninitialized = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}

// StaleAfter is how long the taint may stay on a registered Node on which the
// cloud controller's work is done before it counts as left behind. The controller
// writes its labels and removes its taint in one go, so that a minute is plenty.
const StaleAfter = time.Minute

// WorkDoneAnnotation holds, on a Node that still has the taint, when the cloud
// controller's work there was first seen to be done, in RFC 3339.
const WorkDoneAnnotation = "millwright.dev/cloud-controller-done"

// plannedPoll is how soon to look again whether the pods planned for a Node are there.
const plannedPoll = time.Second

// shownPods is how many of the pods that are waited for are named.
const shownPods = 5

// LearnedTaintTimeout is for how long after it joined a taint that the pool does not
// declare is waited for. One that stays longer is meant to stay.
const LearnedTaintTimeout = 10 * time.Minute

// hasTaint looks for a taint by key and effect.
func hasTaint(taints []corev1.Taint, t corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
}

// startupTaints is closed by those that the claim declares, and for a while by
// those that the pool's Nodes are known to lose.
func startupTaints(v View, node *corev1.Node) Gate {
	if t, ok := firstTaint(node, func(t corev1.Taint) bool { return hasTaint(v.Claim.StartupTaints, t) }); ok {
		r := plan.Reason{Code: plan.StartupTaintsExist, Have: t.ToString()}
		return closed(GateStartupTaints, taintedSince(v, node, t), r, Next{Actor: TaintOwner})
	}
	until := node.CreationTimestamp.Add(LearnedTaintTimeout)
	t, ok := firstTaint(node, func(t corev1.Taint) bool { return hasTaint(v.Learned, t) })
	if !ok || !v.Now.Before(until) {
		return Gate{Name: GateStartupTaints, Open: true}
	}
	r := plan.Reason{Code: plan.UndeclaredStartupTaint, Have: t.ToString(), Want: v.Claim.Pool}
	return closed(GateStartupTaints, taintedSince(v, node, t), r, Next{Actor: TaintOwner, Then: Ignore, At: until})
}

// ephemeralTaints is closed by those that Kubernetes takes off by itself, and by the one
// that leaves the Node to pods planned for it. One that the cloud controller left behind is
// named first: the others will go.
func ephemeralTaints(v View, node *corev1.Node) Gate {
	if stale(v, node) {
		at := workDone(v, node).Add(v.Policy.StaleGrace)
		r := plan.Reason{Code: plan.StaleUninitializedTaint, Have: Uninitialized.ToString()}
		next := Next{Actor: CloudController, At: at}
		switch v.Policy.OnStale {
		case snapshot.StaleRemove:
			next.Then = RemoveTaint
		case snapshot.StaleReplace:
			next.Then = GiveUp
		case snapshot.StaleReport:
			next.Then = Alert
		}
		return closed(GateEphemeralTaints, taintedSince(v, node, Uninitialized), r, next)
	}
	t, ok := firstTaint(node, snapshot.KnownEphemeral)
	if planned := nomination.PlannedTaint(v.Claim); !ok && hasTaint(node.Spec.Taints, planned) {
		r := plan.Reason{Code: plan.PlannedPodsFirst, Have: strconv.Itoa(len(v.Awaited))}
		for _, p := range v.Awaited[:min(len(v.Awaited), shownPods)] {
			r.Objects = append(r.Objects, plan.PodRef(p.Pod))
		}
		return closed(GateEphemeralTaints, taintedSince(v, node, planned), r, Next{Actor: Millwright})
	}
	if !ok {
		return Gate{Name: GateEphemeralTaints, Open: true}
	}
	r := plan.Reason{Code: plan.KnownEphemeralTaintsExist, Have: t.ToString()}
	return closed(GateEphemeralTaints, taintedSince(v, node, t), r, Next{Actor: remover(t)})
}

// remover is who takes an ephemeral taint off.
func remover(t corev1.Taint) Actor {
	switch {
	case snapshot.OfReadiness(t):
		return Kubelet
	case t.Key == Uninitialized.Key:
		return CloudController
	case t.Key == Unregistered.Key, t.Key == Rebooting.Key:
		return Millwright
	}
	return TaintOwner
}

// stale reports whether the cloud controller has left its taint behind.
func stale(v View, node *corev1.Node) bool {
	return uninitialized(node) && !v.Now.Before(staleAt(v, node))
}

// workDone is when the cloud controller's work was first seen to be done.
func workDone(v View, node *corev1.Node) time.Time {
	at, err := time.Parse(time.RFC3339, node.Annotations[WorkDoneAnnotation])
	if err != nil {
		return v.Now
	}
	return at
}

// watchTaint notes that the cloud controller's work is done, and looks again when
// its taint will count as left behind.
func (s *Step) watchTaint(v View, node *corev1.Node) {
	if node == nil || !uninitialized(node) {
		return
	}
	if node.Annotations[WorkDoneAnnotation] == "" {
		s.change(v).Annotations = map[string]string{WorkDoneAnnotation: v.Now.UTC().Format(time.RFC3339)}
	}
	if at := staleAt(v, node); v.Now.Before(at) {
		s.Wake = snapshot.Earliest(s.Wake, at)
	}
}

// open lets all pods onto the Node when those that it was launched for are there, or have
// had their time. That is half of what the Node has to be ready in: agents that do not
// tolerate the taint start only then.
func (s *Step) open(v View, node *corev1.Node) {
	taint := nomination.PlannedTaint(v.Claim)
	if node == nil || !hasTaint(node.Spec.Taints, taint) {
		return
	}
	registered := registeredAt(v, node)
	until := nomination.AwaitedUntil(v.Awaited, v.Claim, registered)
	if half := registered.Add(v.Policy.Timeout / 2); v.Policy.Timeout != snapshot.Never && half.Before(until) {
		until = half
	}
	if v.Now.Before(until) && !s.starves(v, node, taint) {
		s.Wake = snapshot.Earliest(s.Wake, snapshot.Earliest(until, v.Now.Add(plannedPoll)))
		return
	}
	change := s.change(v)
	change.RemoveTaints = append(change.RemoveTaints, taint)
}

// starves reports whether a taint keeps an agent off the Node without which pods may never
// get there.
func (s *Step) starves(v View, node *corev1.Node, taint corev1.Taint) bool {
	lacks := slices.ContainsFunc(s.Gates, func(g Gate) bool {
		return !g.Open && (g.Name == GateStartupTaints || g.Name == GateResources || g.Name == GateDRA || g.Name == GateCSI)
	})
	return lacks && slices.ContainsFunc(v.DaemonSets, func(d *snapshot.DaemonSet) bool {
		_, kept := taints.Untolerated([]corev1.Taint{taint}, d.Pod.Spec.Tolerations)
		return kept && runsOn(v, d, node)
	})
}

// uninitialized reports whether a Node carries the cloud controller's taint
// although that one's work is done: provider ID, addresses and zone are there.
func uninitialized(node *corev1.Node) bool {
	addressed := slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool {
		return a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP
	})
	return hasTaint(node.Spec.Taints, Uninitialized) && addressed &&
		node.Spec.ProviderID != "" && node.Labels[corev1.LabelTopologyZone] != ""
}

// staleAt is when the taint begins to count as left behind.
func staleAt(v View, node *corev1.Node) time.Time {
	return workDone(v, node).Add(min(StaleAfter, v.Policy.StaleGrace))
}

// firstTaint is the first on the Node, by key and effect, of those that are meant.
func firstTaint(node *corev1.Node, meant func(corev1.Taint) bool) (corev1.Taint, bool) {
	var first corev1.Taint
	found := false
	for _, t := range node.Spec.Taints {
		if meant(t) && (!found || strings.Compare(t.Key+string(t.Effect), first.Key+string(first.Effect)) < 0) {
			first, found = t, true
		}
	}
	return first, found
}

// taintedSince is when a taint was added, as far as it says so, else the
// registration.
func taintedSince(v View, node *corev1.Node, t corev1.Taint) time.Time {
	for _, on := range node.Spec.Taints {
		if on.MatchTaint(&t) && on.TimeAdded != nil {
			return on.TimeAdded.Time
		}
	}
	return registeredAt(v, node)
}
