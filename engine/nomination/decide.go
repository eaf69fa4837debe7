package nomination

import (
	"cmp"
	"slices"
	"time"

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
	// Later: other pods are nominated to the node first, as kube-scheduler would find
	// that all of them together are too many for a spread.
	Later Why = "Later"
	// Early: the Node is not ready, and kube-scheduler has still to try pods for the first time,
	// or does so again as another that was launched with it takes pods. It forgets their
	// nominations to Nodes that take none, and is several times slower with many. Few are
	// written within a second once the Node is ready, and those that it opens with.
	Early Why = "Early"
	// Interchangeable: all pods that contend for the same machines are nominated but those of
	// the pod's kind, so any place will do for it.
	Interchangeable Why = "Interchangeable"
	// NotTaken: kube-scheduler has had the time to put the pod there, and has not, which
	// is noted on the pod.
	NotTaken Why = "NotTaken"
)

// Change is what is to be written on one pod.
type Change struct {
	Pod *snapshot.Pod
	// Node is the name to be written; empty to clear what is there.
	Node string
	Why  Why
	// Admit is a toleration to be added to the pod, so that the node that it is planned for
	// takes it, which takes no others first; nil if there is none to add. Such a pod is not
	// nominated, as it has nowhere else to go.
	Admit *corev1.Toleration

	share float64   // of the machine's scarcest resource
	due   time.Time // when the Node could take pods; the zero time for what is cleared
}

// Decide compares what pending pods are nominated to with what the latest plan
// counts on. Clearing comes first, then the pods that take the largest share of
// their machines: they are the hardest to find another place for.
//
// A pod that the plan does not know yet keeps what it has, and so does one that
// kube-scheduler has nominated.
func Decide(s *snapshot.Snapshot) []Change {
	changes := slices.DeleteFunc(takeTurns(s, planned(s)), func(c Change) bool { return c.Node == c.Pod.Status.NominatedNodeName && c.Admit == nil })
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(
			a.due.Compare(b.due), cmp.Compare(a.Node, b.Node), cmp.Compare(b.share, a.share),
			cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name),
		)
	})
	return changes
}

// Needed is how many of the pods of a plan need a nomination once all of its machines take pods.
func Needed(s *snapshot.Snapshot, pods []*snapshot.Pod) int {
	m, needed := contestedBy(s, pods), 0
	for n, list := range m.planned {
		for _, p := range list {
			if n.Claim != nil && !m.first[n.Claim.Pool] && !m.contests[p.Class].free[p.Class] {
				needed++
			}
		}
	}
	return needed
}

// Apply writes the change to the pod.
func (c Change) Apply(p *corev1.Pod) {
	p.Status.NominatedNodeName = c.Node
	if c.Admit != nil {
		p.Spec.Tolerations = append(slices.Clip(p.Spec.Tolerations), *c.Admit)
	}
}

// takeTurns decides for each pod and puts off those whose turn has not come.
func takeTurns(s *snapshot.Snapshot, pods []*snapshot.Pod) []Change {
	m := newMemo(s, pods)
	out := make([]Change, 0, len(pods))
	byNode := map[string][]*snapshot.Pod{}
	for _, p := range pods {
		c := wanted(s, m, p)
		out = append(out, c)
		if c.Node != "" {
			byNode[c.Node] = append(byNode[c.Node], p)
		}
	}
	turn := make(map[*snapshot.Pod]bool, len(pods))
	for node, planned := range byNode {
		for _, p := range inTurn(planned, m.nodes[node], m) {
			turn[p] = true
		}
	}
	for i, c := range out {
		if c.Node != "" && !turn[c.Pod] {
			out[i] = none(c.Pod, Later)
		}
	}
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

// planned are the pending pods that the latest plan knows, and those that no plan knows
// because they have been refused.
func planned(s *snapshot.Snapshot) []*snapshot.Pod {
	var out []*snapshot.Pod
	for _, p := range s.Pending {
		_, known := s.Nominated[key(p)]
		if _, waits := Waits(p, s.Now); (known || waits) && open(p) {
			out = append(out, p)
		}
	}
	return out
}

func key(p *snapshot.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// open reports whether a nomination of the pod is ours to make.
func open(p *snapshot.Pod) bool { return p.Active() && !Foreign(p.Pod) }

// wanted is the nomination that a pod should have.
func wanted(s *snapshot.Snapshot, m *memo, p *snapshot.Pod) Change {
	name := s.Nominated[key(p)]
	n, at := m.nodes[name], m.nodes[p.Status.NominatedNodeName]
	switch {
	case at != nil && unnoted(p, at, s.Now):
		return Change{Pod: p, Node: at.Name, Why: NotTaken} // until that is noted, so that it is not forgotten
	case name == "":
		return none(p, Unplanned)
	case n == nil || n.Deleting():
		return none(p, Leaving)
	case n.Object == nil:
		return none(p, Unplanned)
	case eviction.Marked(n.Object):
		return none(p, Leaving)
	case n.Claim == nil:
		return none(p, Unplanned) // kube-scheduler needs no help with a machine that was there before
	case Refused(p, n, s.Now):
		return none(p, NotTaken)
	case m.plannedFirst(n):
		return admission(p, n, m)
	case m.early(n) && p.Status.NominatedNodeName != n.Object.Name:
		return none(p, Early)
	case m.needless(p.Class, n) && p.Status.NominatedNodeName != n.Object.Name:
		return none(p, Interchangeable)
	}
	return Change{Pod: p, Node: n.Object.Name, Why: Planned, share: m.share(p, n), due: due(n, s.Now)}
}

// due is since when a Node could take pods, far ahead if it is not known.
func due(n *snapshot.Node, now time.Time) time.Time {
	if since, ready := readySince(n); ready {
		return since
	}
	return now.Add(time.Hour)
}

// none clears what a pod is nominated to.
func none(p *snapshot.Pod, why Why) Change { return Change{Pod: p, Why: why, share: 2} }
