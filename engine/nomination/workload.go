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

// holdBack notes the pods whose workload's turn has not come, of those planned for Nodes,
// and when the first of them are let go if it has not come by then, zero if there are none.
func (m *memo) holdBack(now time.Time, nodes map[string]*snapshot.Node, planned map[string][]*snapshot.Pod) (until time.Time) {
	type pool struct {
		workloads map[string]*workload
		waiting   int
		opened    time.Time
	}
	pools := map[string]*pool{}
	for name, pods := range planned {
		n := nodes[name]
		since, opens := opening(n, now)
		if !opens {
			continue
		}
		of := pools[n.Pool()]
		if of == nil {
			of = &pool{workloads: map[string]*workload{}}
			pools[n.Pool()] = of
		}
		of.opened, of.waiting = latest(of.opened, since), of.waiting+len(pods)
		for _, p := range pods {
			m.count(of.workloads, p, n)
		}
	}
	m.heldBack = map[pair]bool{}
	for _, of := range pools {
		end := of.opened.Add(graceFor(of.waiting))
		if len(of.workloads) < 2 || !now.Before(end) {
			continue
		}
		if until.IsZero() || end.Before(until) {
			until = end
		}
		var first *workload
		for _, w := range of.workloads {
			if w.before(first) {
				first = w
			}
		}
		for _, w := range of.workloads {
			for at := range w.pods {
				m.heldBack[at] = w != first
			}
		}
	}
	return until
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
