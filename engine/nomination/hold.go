package nomination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Grace is for how long after it could take pods a Node that has joined is kept from it,
// at most, until the pods that need it are nominated to it. No Node waits for another.
const Grace = 10 * time.Second

// Hold is what keeps a Node that has joined from taking pods.
type Hold struct {
	// Until is when it ends at the latest; zero if the Node is not kept.
	Until time.Time
	// For are the pods to be nominated.
	For []plan.ObjectRef
}

// HoldOf says whether the Node of a claim is kept from taking pods. It is the zero
// Hold for one that takes pods already, and for one that takes first the pods that it was
// launched for. The snapshot may not know the Node yet.
func HoldOf(s *snapshot.Snapshot, claim string, node *corev1.Node) Hold {
	i := slices.IndexFunc(s.Nodes, func(n *snapshot.Node) bool { return n.Claim != nil && n.Claim.Name == claim })
	if i < 0 {
		return Hold{}
	}
	n := s.Nodes[i]
	if n.Object == nil {
		known := *s
		n = &snapshot.Node{Name: node.Name, Object: node, Claim: n.Claim}
		known.Nodes = slices.Clone(s.Nodes)
		known.Nodes[i] = n
		s = &known
	}
	if !joining(n) || firstPools(s)[n.Claim.Pool] {
		return Hold{}
	}
	since, ready := readySince(n)
	if !ready {
		since = n.Object.CreationTimestamp.Time
	}
	h := Hold{Until: since.Add(Grace)}
	if !s.Now.Before(h.Until) {
		return Hold{}
	}
	for _, p := range missing(s, n) {
		h.For = append(h.For, plan.PodRef(p.Pod))
	}
	if len(h.For) == 0 {
		return Hold{}
	}
	return h
}

// joining reports whether a machine's Node has joined and takes no pods yet. One that
// joined without the taint takes pods already.
func joining(n *snapshot.Node) bool {
	return n.Object != nil && n.Claim.Is(snapshot.Launched) && !n.Registered() && !n.Deleting() && slices.ContainsFunc(n.Object.Spec.Taints, unregistered)
}

func unregistered(t corev1.Taint) bool { return t.Key == snapshot.UnregisteredTaint }

// readySince is since when a machine could take pods if it was not kept from it.
func readySince(n *snapshot.Node) (at time.Time, ok bool) {
	if n.Object == nil {
		return time.Time{}, false
	}
	for _, t := range n.Object.Spec.Taints {
		if !unregistered(t) && snapshot.KnownEphemeral(t) {
			return time.Time{}, false
		}
	}
	for _, c := range n.Object.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}
