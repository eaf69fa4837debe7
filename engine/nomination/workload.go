package nomination

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Where several workloads that are spread over zones share machines, the pods of each
// whose turn has not come would take the room of another's: small ones settle on every
// machine that was meant for large ones. So in every pool one workload goes at a time,
// the one with the smallest pods first: a large pod in their place leaves room for small
// ones where it was to be, the other way round is no use. Of the others all pods are
// nominated at once. That keeps their room and them as well: together they look like too
// many on their node, and on every other that has some of them.
//
// A workload that kube-scheduler cannot bind would hold up all others, so this ends some
// time after the last machine of the pool began to take pods.

// workload are pods that the same spread compares, planned for machines of one pool.
type workload struct {
	rule string
	// share is the largest that one of its pods takes of its machine; pods are by class
	// and node.
	share float64
	pods  map[pair]bool
}

// before reports whether it goes before another.
func (w *workload) before(o *workload) bool {
	return o == nil || w.share < o.share || w.share == o.share && w.rule < o.rule
}

// crowd is what waits for the machines of a pool.
type crowd struct {
	// workloads are by rule; waiting counts all pods that are planned for its machines.
	workloads map[string]*workload
	waiting   int
	// opened is when the last of the machines began to take pods.
	opened time.Time
}

// holdBack notes the pods whose workload's turn has not come, of those planned for Nodes,
// and when the first of them are let go if it has not come by then, zero if there are none.
func (m *memo) holdBack(now time.Time, nodes map[string]*snapshot.Node, planned map[string][]*snapshot.Pod) (until time.Time) {
	m.heldBack = map[pair]bool{}
	for _, c := range m.crowds(now, nodes, planned) {
		end := c.opened.Add(graceFor(c.waiting))
		if len(c.workloads) < 2 || !now.Before(end) {
			continue
		}
		if until.IsZero() || end.Before(until) {
			until = end
		}
		first := c.first()
		for _, w := range c.workloads {
			for at := range w.pods {
				m.heldBack[at] = w != first
			}
		}
	}
	return until
}

// crowds are those who wait for machines that take pods or may begin to at any moment, by
// pool.
func (m *memo) crowds(now time.Time, nodes map[string]*snapshot.Node, planned map[string][]*snapshot.Pod) map[string]*crowd {
	out := map[string]*crowd{}
	for name, pods := range planned {
		n := nodes[name]
		since, ok := opening(n, now)
		if !ok {
			continue
		}
		c := out[n.Pool()]
		if c == nil {
			c = &crowd{workloads: map[string]*workload{}}
			out[n.Pool()] = c
		}
		c.opened, c.waiting = latest(c.opened, since), c.waiting+len(pods)
		for _, p := range pods {
			m.count(c.workloads, p, n)
		}
	}
	return out
}

// first is the workload whose turn it is.
func (c *crowd) first() *workload {
	var first *workload
	for _, w := range c.workloads {
		if w.before(first) {
			first = w
		}
	}
	return first
}

// count adds a pod to its workload, if a spread over anything but hosts compares it.
func (m *memo) count(workloads map[string]*workload, p *snapshot.Pod, n *snapshot.Node) {
	rules := m.spreads(p)
	i := slices.IndexFunc(rules, func(r *rule) bool { return !r.host })
	if i < 0 {
		return
	}
	w := workloads[rules[i].id]
	if w == nil {
		w = &workload{rule: rules[i].id, pods: map[pair]bool{}}
		workloads[w.rule] = w
	}
	w.share, w.pods[pair{p.Class, n}] = max(w.share, m.share(p, n)), true
}

// opening is since when a machine takes pods, now for one that may begin at any moment.
// Not ok is one that cannot yet.
func opening(n *snapshot.Node, now time.Time) (at time.Time, ok bool) {
	switch {
	case n.Claim == nil:
		return time.Time{}, false
	case n.Registered() && n.Claim.Is(snapshot.Registered):
		return n.Claim.Conditions[snapshot.Registered].Since, true
	case n.Registered():
		return now, true // the claim will say so in a moment
	}
	_, ready := readySince(n)
	return now, ready
}
