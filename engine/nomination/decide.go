package nomination

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Why says what a change is for.
type Why string

const (
	// Planned: the plan counts on the node for the pod.
	Planned Why = "Planned"
	// Unplanned: the plan has no machine for the pod, or one without a Node yet.
	Unplanned Why = "Unplanned"
	// Leaving: the node is gone, or going.
	Leaving Why = "Leaving"
	// NotTaken: kube-scheduler has had the time of a [Lease] and has not used it.
	NotTaken Why = "NotTaken"
)

// Change is one nomination to be written.
type Change struct {
	Pod *snapshot.Pod
	// Node is the name to be written; empty to clear what is there.
	Node string
	Why  Why

	share float64 // of the machine's scarcest resource
}

// Decide compares what pending pods are nominated to with what the latest plan
// counts on. Clearing comes first, then the pods that take the largest share of
// their machines: they are the hardest to find another place for.
//
// A pod that the plan does not know yet keeps what it has, and so does one that
// kube-scheduler has nominated.
func Decide(s *snapshot.Snapshot) []Change {
	pods := planned(s)
	if len(pods) == 0 {
		return nil
	}
	nodes := index(s)
	needed := !alike(pods)
	var out []Change
	for _, p := range pods {
		c := wanted(s, nodes, p)
		if c.Node != p.Status.NominatedNodeName && (c.Node == "" || needed) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(b.share, a.share),
			cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name),
		)
	})
	return out
}

// index finds machines by the names of their Nodes and claims.
func index(s *snapshot.Snapshot) map[string]*snapshot.Node {
	out := make(map[string]*snapshot.Node, 2*len(s.Nodes))
	for _, n := range s.Nodes {
		if n.Claim != nil {
			out[n.Claim.Name] = n
		}
	}
	for _, n := range s.Nodes {
		out[n.Name] = n
	}
	return out
}

// planned are the pending pods that the latest plan knows.
func planned(s *snapshot.Snapshot) []*snapshot.Pod {
	if len(s.Nominated) == 0 {
		return nil
	}
	var out []*snapshot.Pod
	for _, p := range s.Pending {
		if _, known := s.Nominated[key(p)]; known && p.Active() && !Foreign(p.Pod) {
			out = append(out, p)
		}
	}
	return out
}

func key(p *snapshot.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

func alike(pods []*snapshot.Pod) bool {
	return !slices.ContainsFunc(pods, func(p *snapshot.Pod) bool { return p.Class != pods[0].Class })
}

// wanted is the nomination that a pod should have.
func wanted(s *snapshot.Snapshot, nodes map[string]*snapshot.Node, p *snapshot.Pod) Change {
	none := func(why Why) Change { return Change{Pod: p, Why: why, share: 2} }
	name := s.Nominated[key(p)]
	n := nodes[name]
	switch {
	case name == "":
		return none(Unplanned)
	case n == nil || n.Deleting() || disrupted(n):
		return none(Leaving)
	case n.Object == nil:
		return none(Unplanned)
	case n.Claim == nil && p.Status.NominatedNodeName != n.Object.Name:
		return none(Unplanned) // kube-scheduler needs no help with a machine that was there before
	case Refused(p, n, s.Now):
		return none(NotTaken)
	}
	return Change{Pod: p, Node: n.Object.Name, Why: Planned, share: share(p, n)}
}

func disrupted(n *snapshot.Node) bool {
	return n.Object != nil && slices.ContainsFunc(n.Object.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&eviction.DisruptedTaint) })
}

// share is the part of its machine that a pod takes, of the resource of which it
// takes the most.
func share(p *snapshot.Pod, n *snapshot.Node) float64 {
	most := 0.0
	allocatable := n.Allocatable()
	for name, q := range p.Class.Requests {
		if all, ok := allocatable[name]; ok && !all.IsZero() {
			most = max(most, q.AsApproximateFloat64()/all.AsApproximateFloat64())
		}
	}
	return min(most, 1)
}
