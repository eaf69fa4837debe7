// Package whatif asks placement what would become of pods if machines went.
//
// A [World] is a fork of the snapshot in which everything that is decided already
// has been carried out: pods that wait have been put where they will run, and
// machines that go are gone. Nothing is pending in it, so that a question costs no
// more than the pods that it is about.
package whatif

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// World is a cluster as it will be. It is not safe for concurrent use.
type World struct {
	// Ledger is what pools have of their limits: machines that are gone from the world count
	// until they are gone from the cluster, and so do those that are planned and what is booked as
	// launched.
	Ledger  *limit.Ledger
	snap    *snapshot.Snapshot
	options placement.Options
	// Asked counts the machines that questions have looked at, and their pods, so many
	// of which count as a machine: the measure of work.
	Asked int
}

// What a question costs besides the machines that it looks at, in machines, and how
// many pods cost as much as one.
const (
	overhead       = 200
	podsPerMachine = 8
)

// New is the world in which the pods of a plan for the snapshot are where the
// plan puts them and machines that are being deleted are gone.
func New(s *snapshot.Snapshot, p *plan.Plan, options placement.Options) *World {
	w := &World{Ledger: limit.New(s), snap: s.Fork(), options: options}
	w.options.Ledger, w.options.Unexplained = w.Ledger, true
	w.snap.Pending, w.snap.Nominated, w.snap.Buffers = nil, nil, nil
	w.put(slices.Values(p.Placements))
	for _, n := range p.NewNodes {
		w.Ledger.Take(&n)
	}
	w.snap.Nodes = slices.DeleteFunc(w.snap.Nodes, (*snapshot.Node).Deleting)
	return w
}

// Remove takes machines out.
func (w *World) Remove(gone []*snapshot.Node) {
	names := map[string]bool{}
	for _, n := range gone {
		names[n.Name] = true
	}
	w.snap.Nodes = slices.DeleteFunc(slices.Clone(w.snap.Nodes), func(n *snapshot.Node) bool { return names[n.Name] })
}

// Close makes machines take no further pods.
func (w *World) Close(closed func(*snapshot.Node) bool) {
	nodes := slices.Clone(w.snap.Nodes)
	for i, n := range nodes {
		if closed(n) {
			nodes[i] = withTaint(n)
		}
	}
	w.snap.Nodes = nodes
}

// kept stands for the room that Keep keeps.
var kept snapshot.Buffer

// Keep keeps room for pods like some, as far as machines that exist have it. It is kept elsewhere
// if a machine goes that has it, and costs nothing to move.
func (w *World) Keep(like []*snapshot.Pod) {
	if len(like) == 0 {
		return
	}
	s := w.snap.Fork()
	for _, p := range like {
		room := again(p)
		room.Buffer = &kept
		s.Pending = append(s.Pending, room)
	}
	s.Pools = w.unstocked(s.Pending)
	w.put(slices.Values(w.solve(s).Placements))
}

// WithoutKept is the world without that room, false if there is none in it.
func (w *World) WithoutKept() (*World, bool) {
	f, found := *w, false
	f.snap = w.snap.Fork()
	f.snap.Nodes = slices.Clone(w.snap.Nodes)
	for i, n := range f.snap.Nodes {
		if slices.ContainsFunc(n.Pods, Kept) {
			free := *n
			free.Pods = slices.DeleteFunc(slices.Clone(n.Pods), Kept)
			f.snap.Nodes[i], found = &free, true
		}
	}
	return &f, found
}

// Kept reports whether a pod stands for room that Keep keeps.
func Kept(p *snapshot.Pod) bool { return p.Buffer == &kept }

// closedTaint keeps pods off a machine in a what-if.
var closedTaint = corev1.Taint{Key: "millwright.dev/closed", Effect: corev1.TaintEffectNoSchedule}

// Closed reports whether Close closed a machine.
func Closed(n *snapshot.Node) bool {
	return slices.ContainsFunc(n.Taints(), func(t corev1.Taint) bool { return t.Key == closedTaint.Key })
}

func withTaint(n *snapshot.Node) *snapshot.Node {
	out := *n
	if n.Object != nil {
		object := *n.Object
		object.Spec.Taints = append(slices.Clip(object.Spec.Taints), closedTaint)
		out.Object = &object
	}
	if n.Claim != nil {
		claim := *n.Claim
		claim.Taints = append(slices.Clip(claim.Taints), closedTaint)
		out.Claim = &claim
	}
	return &out
}

// Machines are those of the world.
func (w *World) Machines() []*snapshot.Node { return w.snap.Nodes }

// Pools are those of the world.
func (w *World) Pools() []*snapshot.Pool { return w.snap.Pools }

// Pool finds a pool of the world, nil if there is none.
func (w *World) Pool(name string) *snapshot.Pool { return w.snap.Pool(name) }

// Machine finds a machine of the world, nil if it is gone.
func (w *World) Machine(name string) *snapshot.Node { return w.snap.Node(name) }

// Freed is the world in which what a machine has of its pool's limits and of its capacity
// reservation is free as well, nil if neither bounds it.
func (w *World) Freed(n *snapshot.Node) *World {
	pool := w.snap.Pool(n.Claim.Pool)
	reservation := reservationOf(pool, n)
	if len(pool.Limits) == 0 && reservation == "" {
		return nil
	}
	f := *w
	f.Ledger, f.snap = w.Ledger.Without(pool, n), w.snap.Fork()
	f.options.Ledger = f.Ledger
	if reservation != "" {
		f.options.Cache = nil // of types that are of this question only
		for i, p := range f.snap.Pools {
			f.snap.Pools[i] = withRoom(p, reservation)
		}
	}
	return &f
}

// reservationOf is the capacity reservation that a machine draws on, empty if that is none which
// its pool may use.
func reservationOf(pool *snapshot.Pool, n *snapshot.Node) string {
	labels := n.Labels()
	for _, t := range pool.Types {
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if o.Reservation != "" && t.Name == labels[corev1.LabelInstanceTypeStable] && o.Requirements().Matches(labels) {
				return o.Reservation
			}
		}
	}
	return ""
}

// withRoom is a pool for which a capacity reservation has room for one more machine.
func withRoom(p *snapshot.Pool, reservation string) *snapshot.Pool {
	out := *p
	out.Types = slices.Clone(p.Types)
	for i, t := range out.Types {
		if !slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.Reservation == reservation }) {
			continue
		}
		roomy := *t
		roomy.Offerings = slices.Clone(t.Offerings)
		for j := range roomy.Offerings {
			if o := &roomy.Offerings[j]; o.Reservation == reservation {
				o.Left, o.Available = o.Left+1, true
			}
		}
		out.Types[i] = &roomy
	}
	return &out
}

// Answer is a plan for pods of machines that are thought gone.
type Answer struct {
	*plan.Plan
	from map[*snapshot.Pod]string
}

// From is the machine that a pod of the plan comes from.
func (a Answer) From(p *snapshot.Pod) string { return a.from[p] }

// Of are the placements of pods that come from some of the machines.
func (a Answer) Of(gone ...*snapshot.Node) iter.Seq[plan.Placement] {
	return func(yield func(plan.Placement) bool) {
		for _, at := range a.Placements {
			of := slices.ContainsFunc(gone, func(n *snapshot.Node) bool { return n.Name == a.from[at.Pod] })
			if of && !yield(at) {
				return
			}
		}
	}
}

// WithoutRoom maps the machines that pods come from to the first pod for which the
// plan has no room on a machine that exists and is open.
func (a Answer) WithoutRoom() map[string]*snapshot.Pod {
	out := a.Refused()
	for i := range a.NewNodes {
		for _, p := range a.NewNodes[i].Pods {
			a.lacks(out, p)
		}
	}
	return out
}

// Refused is like WithoutRoom, and new machines count as room.
func (a Answer) Refused() map[string]*snapshot.Pod {
	out := map[string]*snapshot.Pod{}
	for _, u := range slices.Concat(a.Unplaced, a.Ignored) {
		a.lacks(out, u.Pod)
	}
	for _, at := range a.Placements {
		if Closed(at.Node) {
			a.lacks(out, at.Pod)
		}
	}
	return out
}

// lacks notes a pod without a place. Room that is kept is named only where no pod lacks one.
func (a Answer) lacks(out map[string]*snapshot.Pod, p *snapshot.Pod) {
	if was := out[a.from[p]]; was == nil || Kept(was) {
		out[a.from[p]] = p
	}
}

// Ask plans for the pods of machines as if those were gone. The world stays as it
// is.
func (w *World) Ask(gone []*snapshot.Node) Answer { return w.ask(gone, false) }

// Room asks only for room on machines that exist; new ones are at most in the answer for
// pods without such room.
func (w *World) Room(gone []*snapshot.Node) Answer { return w.ask(gone, true) }

func (w *World) ask(gone []*snapshot.Node, roomOnly bool) Answer {
	f := *w
	f.snap = w.snap.Fork()
	f.Remove(gone)
	s := f.snap
	out := Answer{from: map[*snapshot.Pod]string{}}
	for _, n := range gone {
		for _, p := range Movers(n) {
			out.from[p] = n.Name
			s.Pending = append(s.Pending, p)
		}
	}
	if roomOnly {
		s.Pools = w.unstocked(s.Pending)
	}
	out.Plan = w.solve(s)
	return out
}

func (w *World) solve(s *snapshot.Snapshot) *plan.Plan {
	w.Asked += overhead + len(s.Nodes) + w.pods()/podsPerMachine
	return placement.Solve(s, w.options)
}

// pods counts those of all machines.
func (w *World) pods() int {
	sum := 0
	for _, n := range w.snap.Nodes {
		sum += len(n.Pods)
	}
	return sum
}

// Go carries out what was asked about some of the machines: they are gone, and of
// their pods those that found a place on a machine are there. New machines are
// not part of the world.
func (w *World) Go(gone []*snapshot.Node, a Answer) {
	w.Remove(gone)
	w.put(a.Of(gone...))
}

// Moving are a machine's pods that would have to move.
func Moving(n *snapshot.Node) iter.Seq[*snapshot.Pod] {
	return func(yield func(*snapshot.Pod) bool) {
		for _, p := range n.Pods {
			if eviction.Reschedulable(p.Pod) && !yield(p) {
				return
			}
		}
	}
}

// Movers are a machine's pods as they would be made again elsewhere.
func Movers(n *snapshot.Node) []*snapshot.Pod {
	out := make([]*snapshot.Pod, 0, len(n.Pods))
	for p := range Moving(n) {
		out = append(out, again(p))
	}
	return out
}

// again is a pod as it would be made again.
func again(p *snapshot.Pod) *snapshot.Pod {
	pod := *p.Pod
	pod.Spec.NodeName, pod.Status, pod.DeletionTimestamp = "", corev1.PodStatus{}, nil
	return &snapshot.Pod{Pod: &pod, Class: p.Again().Class, Buffer: p.Buffer}
}

// put binds pods to machines.
func (w *World) put(placements iter.Seq[plan.Placement]) {
	at := make(map[string]int, len(w.snap.Nodes))
	for i, n := range w.snap.Nodes {
		at[n.Name] = i
	}
	changed := map[int]bool{}
	w.snap.Nodes = slices.Clone(w.snap.Nodes)
	for p := range placements {
		i, found := at[p.Node.Name]
		if !found {
			continue
		}
		if !changed[i] {
			n := *w.snap.Nodes[i]
			n.Pods = slices.Clip(n.Pods)
			w.snap.Nodes[i], changed[i] = &n, true
		}
		pod := *p.Pod.Pod
		pod.Spec.NodeName = p.Node.Name
		w.snap.Nodes[i].Pods = append(w.snap.Nodes[i].Pods, &snapshot.Pod{Pod: &pod, Class: p.Pod.Class, Buffer: p.Pod.Buffer})
	}
}

// unstocked are the pools with nothing to sell, unless that would take domains away from a
// topology spread of pods that move.
func (w *World) unstocked(movers []*snapshot.Pod) []*snapshot.Pool {
	if slices.ContainsFunc(movers, spreads) {
		return w.snap.Pools
	}
	out := make([]*snapshot.Pool, len(w.snap.Pools))
	for i, p := range w.snap.Pools {
		empty := *p
		empty.Types = nil
		out[i] = &empty
	}
	return out
}

// spreads reports whether a pod demands a spread over domains in which new nodes may come to be.
func spreads(p *snapshot.Pod) bool {
	return slices.ContainsFunc(p.Class.Shape.Spread, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey != corev1.LabelHostname && c.WhenUnsatisfiable == corev1.DoNotSchedule
	})
}
