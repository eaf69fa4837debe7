package nomination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// kube-scheduler tries every pod that waits whenever a Node begins to take pods, and
// forgets the nomination of one that fits nowhere yet. If the Nodes of a plan began
// one after the other, the room on the later ones would be free for whoever is tried
// next. So they begin together.

// PlanAnnotation names, on a claim, the plan that it is one of several machines of.
const PlanAnnotation = "millwright.dev/plan"

// How long a Node that has joined may be kept from taking pods.
const (
	// Grace is for how long after the first Node of a plan could take pods the others
	// of the plan are waited for, and after a Node itself could for the nominations of
	// pods that are planned for it.
	Grace = 5 * time.Second
	// PodGrace is added for every pod that waits for a machine of a plan of several, as
	// nominations take time: some milliseconds each, or more where the API server has
	// much to do. Altogether it is MostPodGrace at most.
	PodGrace     = 20 * time.Millisecond
	MostPodGrace = 20 * time.Second
	// ReadyGrace is for how long after it joined a Node of a plan of several machines
	// is kept because its kubelet is not ready. Later ones may need agents that do not
	// tolerate being kept.
	ReadyGrace = 30 * time.Second
)

// Hold is what keeps a Node that has joined from taking pods.
type Hold struct {
	// Until is when it ends at the latest; zero if the Node is not kept.
	Until time.Time
	// For are the pods to be nominated and the machines that are waited for.
	For []plan.ObjectRef
	// Leads is true for one of the Nodes that are kept together: it is the one that
	// looks often whether they still have to be.
	Leads bool
	// With are the other Nodes to be let go at the same time as this one, which is not
	// kept.
	With []*snapshot.Node
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
	first := firstPools(s)
	if !joining(n) || first[n.Claim.Pool] {
		return Hold{}
	}
	g := newGroup(s, n, first)
	if until := g.until(n); s.Now.Before(until) {
		return Hold{Until: until, For: g.awaited(n), Leads: g.leader() == n}
	}
	return Hold{With: slices.DeleteFunc(slices.Clone(g.ready), func(m *snapshot.Node) bool {
		return m == n || s.Now.Before(g.until(m)) || ambiguous(s, m)
	})}
}

// group are the machines of one plan, in the order of the snapshot.
type group struct {
	now     time.Time
	members []*snapshot.Node
	// missing are, by machine, pods that are to be nominated to its Node first.
	missing map[*snapshot.Node][]*snapshot.Pod
	// first is when the first Node of the group was ready, zero if none is.
	first time.Time
	// grace is for how long a Node that is ready may be kept.
	grace time.Duration
	// settlers are the machines with pods that want to be with others in one domain:
	// the first of those decides for all.
	settlers map[*snapshot.Node]bool
	// ready are the Nodes that could take pods if they were not kept, in the order in
	// which they begin; lacking is true if pods are still to be nominated to one of them.
	ready   []*snapshot.Node
	lacking bool
}

// newGroup leaves out the machines of pools in which they take first the pods that they
// were launched for: those begin when they can.
func newGroup(s *snapshot.Snapshot, n *snapshot.Node, first map[string]bool) *group {
	g := &group{now: s.Now, members: []*snapshot.Node{n}, missing: map[*snapshot.Node][]*snapshot.Pod{}, settlers: map[*snapshot.Node]bool{}}
	if id := n.Claim.Annotations[PlanAnnotation]; id != "" {
		g.members = nil
		for _, m := range s.Nodes {
			if m.Claim != nil && m.Claim.Annotations[PlanAnnotation] == id && !m.Deleting() && !first[m.Claim.Pool] {
				g.members = append(g.members, m)
			}
		}
	}
	pods := map[*snapshot.Node][]*snapshot.Pod{}
	nodes := index(s)
	for _, p := range planned(s) {
		if m := nodes[s.Nominated[key(p)]]; m != nil {
			pods[m] = append(pods[m], p)
		}
	}
	waiting, asked := 0, newMemo(s)
	for _, m := range g.members {
		waiting += len(pods[m])
		if joining(m) {
			g.missing[m] = missing(pods[m], m, asked)
			g.settlers[m] = slices.ContainsFunc(pods[m], wantsCompany)
		}
		if at, ok := readySince(m); ok && (g.first.IsZero() || at.Before(g.first)) {
			g.first = at
		}
	}
	g.ready = g.inOrder()
	g.lacking = slices.ContainsFunc(g.ready, func(m *snapshot.Node) bool { return len(g.missing[m]) > 0 })
	g.grace = graceFor(waiting)
	return g
}

// graceFor is how long nominations may take to be written for so many pods.
func graceFor(pods int) time.Duration { return Grace + min(time.Duration(pods)*PodGrace, MostPodGrace) }

// until is when a joining Node may take pods at the latest, at present or before if it
// may now.
func (g *group) until(n *snapshot.Node) time.Time {
	joined := n.Object.CreationTimestamp.Time
	at, ready := readySince(n)
	switch {
	case len(g.members) == 1:
		if len(g.missing[n]) == 0 {
			return g.now
		}
		return joined.Add(Grace)
	case !ready:
		return joined.Add(ReadyGrace)
	}
	until := g.now
	if len(g.missing[n]) > 0 {
		until = at.Add(g.grace)
	}
	// Once a Node of the plan takes pods it is too late to wait for machines.
	if len(g.ready) < len(g.members) && !slices.ContainsFunc(g.members, (*snapshot.Node).Registered) {
		until = latest(until, g.first.Add(Grace))
	}
	if g.lacking {
		until = latest(until, g.first.Add(g.grace))
	}
	return until
}

// wantsCompany reports whether a pod has to be in a domain larger than a host with
// others.
func wantsCompany(p *snapshot.Pod) bool {
	a := p.Spec.Affinity
	return a != nil && a.PodAffinity != nil && slices.ContainsFunc(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		return t.TopologyKey != corev1.LabelHostname
	})
}

// inOrder are the Nodes that could take pods if they were not kept, in the order in
// which they begin.
func (g *group) inOrder() []*snapshot.Node {
	out := slices.DeleteFunc(slices.Clone(g.members), func(n *snapshot.Node) bool {
		_, ready := readySince(n)
		return !ready || !joining(n)
	})
	slices.SortStableFunc(out, func(a, b *snapshot.Node) int { return rank(g.settlers[a]) - rank(g.settlers[b]) })
	return out
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// leader is the first of them, nil if there are none.
func (g *group) leader() *snapshot.Node {
	if len(g.ready) > 0 {
		return g.ready[0]
	}
	return nil
}

// awaited are the pods and machines for which a Node is kept.
func (g *group) awaited(n *snapshot.Node) []plan.ObjectRef {
	var out []plan.ObjectRef
	for _, m := range g.members {
		if _, ready := readySince(m); !ready {
			out = append(out, plan.ObjectRef{Kind: "NodeClaim", Name: m.Claim.Name})
		}
	}
	for _, p := range g.missing[n] {
		out = append(out, plan.PodRef(p.Pod))
	}
	return out
}

// ambiguous reports whether several Nodes say that they are a machine.
func ambiguous(s *snapshot.Snapshot, n *snapshot.Node) bool {
	return slices.ContainsFunc(s.Nodes, func(o *snapshot.Node) bool {
		return o != n && o.Object != nil && o.Object.Spec.ProviderID == n.Claim.ProviderID
	})
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
