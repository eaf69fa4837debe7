// Package headroom knows whether a pool has room for what has lately come to it, if as
// much came again.
//
//	machines of a pool ──► New ──► Room
//	                               ├── Without  the room without some of them, if it suffices
//	                               └── First    the earliest of what has come
//
// Only amounts are looked at, machine by machine: it is a forecast, and where pods that
// have not come yet may run nobody knows.
package headroom

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption/ledger"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Span is over how long a time pods are taken together: three times as long as it must not
// happen that a machine comes back, since load is never the same twice.
const Span = 3 * ledger.Soon

// Room is what machines have left, and the pods for which it is kept. It never changes.
type Room struct {
	// First is when the earliest of those pods started, zero if there is none.
	First time.Time

	dims   *vector.Dims
	places []place
	// came are the pods of each span, the largest first.
	came [][]bundle
}

type place struct {
	name string
	free []int64
}

// bundle is pods that ask for the same.
type bundle struct {
	need  []int64
	count int64
}

// New is the room of the machines of a pool for as many pods as have started on them
// within a span of time since then; spans begin half of one apart. Those of Jobs are left out: they end, and what they
// leave is there for the next as long as its machine rests.
func New(machines []*snapshot.Node, since, now time.Time) *Room {
	r := &Room{}
	starts := map[*snapshot.Class][]time.Time{}
	asked := map[corev1.ResourceName]bool{}
	for _, n := range machines {
		for _, p := range n.Pods {
			start := p.Status.StartTime
			if start == nil || start.Time.Before(since) || !eviction.Reschedulable(p.Pod) || eviction.OfJob(p.Pod) {
				continue
			}
			starts[p.Class] = append(starts[p.Class], start.Time)
			for _, a := range p.Class.Requests {
				asked[a.Name] = true
			}
			if r.First.IsZero() || start.Time.Before(r.First) {
				r.First = start.Time
			}
		}
	}
	r.dims = vector.New(slices.Collect(maps.Keys(asked)))
	for end := now; end.After(since); end = end.Add(-Span / 2) {
		if came := r.within(starts, end.Add(-Span), end); len(came) > 0 {
			r.came = append(r.came, came)
		}
	}
	for _, n := range machines {
		free := r.dims.Have(n.Allocatable())
		for _, p := range n.Pods {
			if !p.Terminal() {
				vector.Add(free, r.dims.Need(p.Class.Requests), -1)
			}
		}
		r.places = append(r.places, place{n.Name, free})
	}
	return r
}

// within are the pods that started after one time and not after another.
func (r *Room) within(starts map[*snapshot.Class][]time.Time, from, to time.Time) []bundle {
	var out []bundle
	for c, at := range starts {
		b := bundle{need: r.dims.Need(c.Requests)}
		for _, t := range at {
			if t.After(from) && !t.After(to) {
				b.count++
			}
		}
		if b.count > 0 {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b bundle) int {
		return cmp.Or(slices.Compare(b.need, a.need), cmp.Compare(b.count, a.count))
	})
	return coarse(out)
}

// most bounds how many sizes are told apart.
const most = 64

// coarse takes sizes that follow each other together, as their mean, if there are many.
func coarse(list []bundle) []bundle {
	if len(list) <= most {
		return list
	}
	var out []bundle
	for group := range slices.Chunk(list, (len(list)+most-1)/most) {
		sum := bundle{need: make([]int64, len(group[0].need))}
		for _, b := range group {
			vector.Add(sum.need, b.need, b.count)
			sum.count += b.count
		}
		for i := range sum.need {
			sum.need[i] = (sum.need[i] + sum.count - 1) / sum.count
		}
		out = append(out, sum)
	}
	return out
}

// Without is the room that is left if machines go, pods are placed like this, and others
// are launched; false if it does not suffice.
func (r *Room) Without(gone []*snapshot.Node, placements []plan.Placement, launch []plan.NewNode) (*Room, bool) {
	var after []place
	for _, p := range r.places {
		if !slices.ContainsFunc(gone, func(n *snapshot.Node) bool { return n.Name == p.name }) {
			after = append(after, place{p.name, slices.Clone(p.free)})
		}
	}
	at := make(map[string]int, len(after))
	for i, p := range after {
		at[p.name] = i
	}
	for _, p := range placements {
		if i, ours := at[p.Node.Name]; ours {
			vector.Add(after[i].free, r.dims.Need(p.Pod.Class.Requests), -1)
		}
	}
	for i := range launch {
		free := r.dims.Have(launch[i].Choice.Type.Allocatable())
		vector.Add(free, r.dims.Need(snapshot.AmountsOf(launch[i].Requests)), -1)
		after = append(after, place{free: free})
	}
	out := *r
	out.places = after
	return &out, out.holds()
}

// holds reports whether there is room for each span's pods.
func (r *Room) holds() bool {
	return !slices.ContainsFunc(r.came, func(came []bundle) bool { return !r.fit(came) })
}

// fit puts pods where there is room.
func (r *Room) fit(came []bundle) bool {
	free := make([][]int64, len(r.places))
	for i, p := range r.places {
		free[i] = slices.Clone(p.free)
	}
	for _, b := range came {
		left := b.count
		for _, f := range free {
			if left == 0 {
				break
			}
			n := times(f, b.need, left)
			vector.Add(f, b.need, -n)
			left -= n
		}
		if left > 0 {
			return false
		}
	}
	return true
}

// times is how many times a need fits, at most so many.
func times(free, need []int64, most int64) int64 {
	for i, n := range need {
		if n > 0 {
			most = min(most, max(0, free[i])/n)
		}
	}
	return most
}
