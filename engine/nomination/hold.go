package nomination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/nodeagent"
	"github.com/millwright-dev/millwright/engine/placement/taints"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// For how long after it could take pods a Node that has joined is kept from it, at most.
const (
	// Grace is the time until pods are nominated to it, or to others that are ready as well; as
	// long again for its own, since some are nominated only when it has stopped to wait.
	Grace = 10 * time.Second
	// Together is the time until others that were launched with it, at most so long before or
	// after, are ready as well; longer, up to Grace, where machines take long (wait) and none of
	// them takes pods yet.
	Together = 3 * time.Second
	// plansApart is less than the time between two plans, and more than one's machines take to be
	// launched (--batch-idle-duration).
	plansApart = time.Second / 2
	// Boot is the time until it is ready and its startup taints are gone, from when it joined.
	// Until then it takes no pods anyway, unless the agent that makes it ready, or takes off such
	// a taint, waits for that itself: where one does not tolerate to be kept from it, that is
	// for Grace.
	Boot = time.Minute
)

// Hold is what keeps a Node that has joined from taking pods.
type Hold struct {
	// Until is when it ends at the latest; zero if the Node is not kept.
	Until time.Time
	// For are the pods to be nominated to it, or those planned for Nodes that it opens with.
	For []plan.ObjectRef
	// Free is the share of the machine that no nominations keep for its pods, 0 to 1. Of Nodes
	// that open together the one with the least opens first: what is free is taken by pods
	// whose own Node is still closed.
	Free float64
}

// Holds are what keeps from taking pods the Nodes that have joined and take none yet, by claim;
// with a zero Until for one that is not kept, and for one that takes first the pods that it was
// launched for. A claim's Node that the snapshot does not know yet may be given.
func Holds(s *snapshot.Snapshot, claim string, node *corev1.Node) map[string]Hold {
	s = withNode(s, claim, node)
	m, out := newMemo(s, planned(s)), map[string]Hold{}
	for _, n := range s.Nodes {
		if n.Claim == nil || !joining(n) {
			continue
		}
		var h Hold
		if !m.first[n.Claim.Pool] {
			h = m.hold(n)
		}
		if !s.Now.Before(h.Until) {
			h = Hold{Free: h.Free}
		}
		out[n.Claim.Name] = h
	}
	return out
}

// withNode is a snapshot that knows the Node of a claim.
func withNode(s *snapshot.Snapshot, claim string, node *corev1.Node) *snapshot.Snapshot {
	i := slices.IndexFunc(s.Nodes, func(n *snapshot.Node) bool { return n.Claim != nil && n.Claim.Name == claim })
	if i < 0 || s.Nodes[i].Object != nil {
		return s
	}
	known := *s
	known.Nodes = slices.Clone(s.Nodes)
	known.Nodes[i] = &snapshot.Node{Name: node.Name, Object: node, Claim: s.Nodes[i].Claim}
	return &known
}

// hold is that of one Node: for pods that are still to be nominated to it, and while it is not
// ready for all that need it, as kube-scheduler forgets nominations to Nodes that take no pods;
// then for those planned for machines with which it opens together.
func (m *memo) hold(n *snapshot.Node) Hold {
	needing := slices.DeleteFunc(slices.Clone(m.planned[n]), func(p *snapshot.Pod) bool { return m.needless(p.Class, n) })
	free := m.free(n)
	own, others := Hold{Free: free}, Hold{Free: free}
	if since, ready := readySince(n); ready {
		own.Until, needing = since.Add(2*Grace), unnominated(needing, n, m)
	} else {
		own.Until = joined(n).Add(m.boot(n))
	}
	for _, p := range needing {
		own.For = append(own.For, plan.PodRef(p.Pod))
	}
	if len(own.For) > 0 {
		return own
	}
	for _, of := range m.contestsOf(n) {
		others.Until = snapshot.Latest(others.Until, m.opens(of, n))
		for _, o := range m.keeping(of, n) {
			for _, p := range m.planned[o] {
				others.For = append(others.For, plan.PodRef(p.Pod))
			}
		}
	}
	return others
}

// free is the share of a machine that no nominations keep for the pods planned for it.
func (m *memo) free(n *snapshot.Node) float64 {
	free := 1.0
	for _, p := range m.planned[n] {
		if p.Status.NominatedNodeName == n.Object.Name {
			free -= m.share(p, n)
		}
	}
	return max(free, 0)
}

// contestsOf are those of the pods planned for a machine. One for which no pods are planned any
// more is room for all that may use its pool.
func (m *memo) contestsOf(n *snapshot.Node) []*contest {
	return slices.DeleteFunc(slices.Clone(m.all), func(c *contest) bool {
		if len(m.planned[n]) == 0 {
			return !slices.ContainsFunc(c.closed, func(o *snapshot.Node) bool { return o.Claim.Pool == n.Claim.Pool })
		}
		return !slices.ContainsFunc(m.planned[n], func(p *snapshot.Pod) bool { return m.contests[p.Class] == c })
	})
}

// close finds the machines of each contest that take no pods yet. Those that are not ready or
// to which pods are still to be nominated are not about to either.
func (m *memo) close(s *snapshot.Snapshot) {
	for _, n := range s.Nodes {
		if n.Claim == nil {
			continue
		}
		here := slices.DeleteFunc(slices.Clone(m.planned[n]), func(p *snapshot.Pod) bool {
			return m.contests[p.Class].free[p.Class] && !m.few[n]
		})
		opens := Ready(n) && (n.Registered() || len(unnominated(here, n, m)) == 0)
		for _, p := range here {
			of := m.contests[p.Class]
			switch {
			case opens && joining(n) && !slices.Contains(of.waiting, n):
				of.waiting = append(of.waiting, n)
			case !opens && !slices.Contains(of.closed, n):
				of.closed = append(of.closed, n)
			}
		}
	}
}

// closedBut reports whether machines of a contest besides one are not about to take pods.
func (c *contest) closedBut(n *snapshot.Node) bool {
	return slices.ContainsFunc(c.closed, func(o *snapshot.Node) bool { return o != n })
}

// together reports whether a Node that has joined waits for others of a contest.
func (m *memo) together(c *contest, n *snapshot.Node) bool { return m.now.Before(m.opens(c, n)) }

// opens is when at the latest a Node that has joined stops to wait for others of a contest, the
// zero time if it waits for none: as long as for nominations of its own if those of the others
// are all that keeps them, for a moment if one is not ready.
func (m *memo) opens(c *contest, n *snapshot.Node) time.Time {
	since, ready := readySince(n)
	others := m.keeping(c, n)
	switch {
	case len(others) == 0:
		return time.Time{}
	case !ready:
		return joined(n).Add(m.boot(n))
	case slices.ContainsFunc(others, func(o *snapshot.Node) bool { return !Ready(o) }):
		if m.late[n] {
			return since.Add(Together)
		}
		return since.Add(wait(n, since))
	}
	return since.Add(Grace)
}

// wait is for how long a Node that is ready waits for others to be: for half of the time that it
// took itself, as machines that take longer also differ by more, from Together to Grace.
func wait(n *snapshot.Node, ready time.Time) time.Duration {
	took := ready.Sub(n.Claim.Conditions[snapshot.Launched].Since)
	return min(max(took/2, Together), Grace)
}

// lateOf are the machines whose Nodes have joined after others that were launched with them in
// their pool had begun to take pods: they open one by one.
func lateOf(s *snapshot.Snapshot) map[*snapshot.Node]bool {
	taking := map[string][]*snapshot.Node{}
	for _, n := range s.Nodes {
		if n.Claim != nil && n.Registered() && !n.Deleting() {
			taking[n.Claim.Pool] = append(taking[n.Claim.Pool], n)
		}
	}
	out := map[*snapshot.Node]bool{}
	for _, n := range s.Nodes {
		if n.Claim != nil && joining(n) {
			out[n] = slices.ContainsFunc(taking[n.Claim.Pool], func(o *snapshot.Node) bool { return launched(o, n, Together) })
		}
	}
	return out
}

// fewOf are the Nodes that have joined and that Few pods use, or are planned for, with all that were
// launched with them in their pool, none of which goes in turn.
func (m *memo) fewOf(s *snapshot.Snapshot) map[*snapshot.Node]bool {
	inTurn := func(p *snapshot.Pod) bool { return m.contests[p.Class].turns }
	out := map[*snapshot.Node]bool{}
	for _, n := range s.Nodes {
		if n.Claim == nil || !joining(n) || slices.ContainsFunc(m.planned[n], inTurn) {
			continue
		}
		pods := 0
		for _, o := range s.Nodes {
			if o.Claim != nil && o.Claim.Pool == n.Claim.Pool && launched(o, n, Together) && pods <= Few {
				pods += m.pods(o)
			}
		}
		out[n] = pods <= Few
	}
	return out
}

// pods is how many pods use a machine or are planned for it, besides those of DaemonSets.
func (m *memo) pods(n *snapshot.Node) int {
	pods := len(m.planned[n])
	for _, p := range n.Pods {
		if eviction.Reschedulable(p.Pod) {
			pods++
		}
	}
	return pods
}

// launched reports whether two machines were within some time.
func launched(a, b *snapshot.Node, within time.Duration) bool {
	return a.Claim.Created.Sub(b.Claim.Created).Abs() <= within
}

// keeping are the machines of a contest that were launched with one and keep it from taking
// pods: those that are not about to take them, and, if it is not ready, those that wait for it. For
// few pods they are those of the same plan.
func (m *memo) keeping(c *contest, n *snapshot.Node) []*snapshot.Node {
	others, within := c.closed, Together
	if !Ready(n) {
		others = slices.Concat(c.closed, c.waiting)
	}
	if m.few[n] {
		within = plansApart
	}
	return slices.DeleteFunc(slices.Clone(others), func(o *snapshot.Node) bool { return o == n || !launched(o, n, within) })
}

// starting reports whether a Node that is ready waits for others that are not.
func (m *memo) starting(n *snapshot.Node) bool {
	return slices.ContainsFunc(m.contestsOf(n), func(c *contest) bool {
		return m.together(c, n) && slices.ContainsFunc(m.keeping(c, n), func(o *snapshot.Node) bool { return !Ready(o) })
	})
}

// boot is for how long a Node that is not ready is kept from taking pods: not for long if what
// makes it ready, an agent of the network, or takes off a startup taint may not run there.
func (m *memo) boot(n *snapshot.Node) time.Duration {
	for _, d := range m.excluded {
		frees := func(t corev1.Taint) bool {
			_, kept := taints.Untolerated([]corev1.Taint{t}, d.Pod.Spec.Tolerations)
			return startup(n, t) && !snapshot.OfReadiness(t) && !kept
		}
		if nodeagent.Network(&d.Pod.Spec) || slices.ContainsFunc(n.Object.Spec.Taints, frees) {
			return Grace
		}
	}
	return Boot
}

// excluded are the DaemonSets whose pods may not run on Nodes that are kept from taking pods.
func excluded(s *snapshot.Snapshot) []*snapshot.DaemonSet {
	return slices.DeleteFunc(slices.Clone(s.DaemonSets), func(d *snapshot.DaemonSet) bool {
		_, kept := taints.Untolerated(handshake, d.Pod.Spec.Tolerations)
		return !kept
	})
}

// handshake are the taints that keep Nodes that have joined from taking pods.
var handshake = []corev1.Taint{{Key: snapshot.UnregisteredTaint, Effect: corev1.TaintEffectNoExecute}}

// Due is when nominations may be due next without anything having changed, zero for never:
// when a Node has waited long enough for others, or kube-scheduler may have tried all pods.
func Due(s *snapshot.Snapshot) time.Time {
	var due time.Time
	next := func(at time.Time) {
		if at.After(s.Now) && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	untried := trying(s)
	for _, n := range s.Nodes {
		if n.Claim == nil || !joining(n) {
			continue
		}
		if since, ready := readySince(n); ready {
			for _, d := range []time.Duration{Together, wait(n, since), Grace} {
				next(since.Add(d))
			}
		} else if untried {
			next(s.Now.Add(time.Second))
		}
	}
	return due
}

// unnominated are those of the pods planned for a machine whose nomination to it is due.
func unnominated(planned []*snapshot.Pod, n *snapshot.Node, m *memo) []*snapshot.Pod {
	return slices.DeleteFunc(slices.Clone(inTurn(planned, n, m)), func(p *snapshot.Pod) bool {
		return p.Status.NominatedNodeName == n.Object.Name
	})
}

// joining reports whether a machine's Node has joined and takes no pods yet. One that
// joined without the taint takes pods already.
func joining(n *snapshot.Node) bool {
	return n.Object != nil && n.Claim.Is(snapshot.Launched) && !n.Deleting() && slices.ContainsFunc(n.Object.Spec.Taints, unregistered)
}

func unregistered(t corev1.Taint) bool { return t.Key == snapshot.UnregisteredTaint }

// startup reports whether a taint keeps pods from a Node until something has started there.
func startup(n *snapshot.Node, t corev1.Taint) bool {
	return !unregistered(t) && t.Key != snapshot.PlannedTaint && n.Passing(t)
}

// readySince is since when a machine could take pods if it was not kept from it: since its
// kubelet is ready, the last startup taint is gone, and it is known whose it is. A controller
// that has been away may learn that long after.
func readySince(n *snapshot.Node) (at time.Time, ok bool) {
	if n.Object == nil || slices.ContainsFunc(n.Object.Spec.Taints, func(t corev1.Taint) bool { return startup(n, t) }) {
		return time.Time{}, false
	}
	for _, c := range n.Object.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return knownSince(n, snapshot.Latest(c.LastTransitionTime.Time, written(n.Object.ManagedFields, Taints))), c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// Taints reports whether an entry of a Node's managed fields is about its taints.
func Taints(f metav1.ManagedFieldsEntry) bool { return mentions(f, `"f:taints"`) }

// Ready reports whether a machine could take pods if it was not kept from it.
func Ready(n *snapshot.Node) bool {
	_, ready := readySince(n)
	return ready
}

// joined is since when the Node of a machine is there, and it is known whose it is.
func joined(n *snapshot.Node) time.Time { return knownSince(n, n.Object.CreationTimestamp.Time) }

// knownSince is a time in the life of a Node, or when its claim was launched if that is later.
func knownSince(n *snapshot.Node, at time.Time) time.Time {
	return snapshot.Latest(at, n.Claim.Conditions[snapshot.Launched].Since)
}
