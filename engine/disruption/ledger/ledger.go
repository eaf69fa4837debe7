// Package ledger remembers what voluntary disruption did to a pool, and reads off it
// what had better not be done again.
//
//	Note      what is done ──► the pool's moves, with those that are too old left out
//	Evictions how many pods were evicted in the last hour
//	Learn     how long machines must rest and room is kept because others have come back
//	Undone    a replacement that an earlier one would be undone by
//
// The moves are kept on the NodePool, because the machines that they are about are
// gone. What is done within a minute is one move. Evictions are remembered for an hour,
// machines for a day, in no more moves than most, and that one has come back for a week:
// whoever needed it may go on needing it, and nothing shows that while it stays.
package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Hour is what rates are counted over.
const Hour = time.Hour

// Soon is how soon after its removal a machine of the same kind has to be launched to
// count as one that has come back.
const Soon = 10 * time.Minute

// day and week are for how long machines are remembered, and that one came back.
const day, week = 24 * time.Hour, 7 * 24 * time.Hour

// most bounds how many moves are remembered besides those of the last hour.
const most = 240

// Kind is a machine's type, zone and capacity type.
func Kind(n *snapshot.Node) string {
	l := n.Labels()
	return kind(l[corev1.LabelInstanceTypeStable], l[corev1.LabelTopologyZone], l[catalog.CapacityTypeLabel])
}

// KindOf is that of a machine that would be launched.
func KindOf(c catalog.Choice) string {
	return kind(c.Type.Name, c.Offering.Zone, c.Offering.CapacityType)
}

func kind(name, zone, capacity string) string { return name + "/" + zone + "/" + capacity }

// Entry is something to be noted about a pool: so many pods are evicted; which machines
// go to save money, and which have come in their place; which go because they are empty.
// Live are all of the pool's.
type Entry struct {
	Pods                    int
	Gone, Came, Empty, Live []*snapshot.Node
}

// Note adds what is done now, and what has come back of what was removed before.
func Note(p *snapshot.Pool, e Entry, now time.Time) []snapshot.PoolMove {
	left := len(p.Moves)
	var out []snapshot.PoolMove
	for _, m := range withReturns(p, e.Live) {
		left--
		age := now.Sub(m.At)
		named := age <= day && len(m.Gone)+len(m.Empty) > 0 && left < most
		if age <= Hour+time.Minute || named || age <= week && len(m.Back) > 0 {
			out = append(out, m)
		}
	}
	var last snapshot.PoolMove
	if i := len(out) - 1; i >= 0 && out[i].At.Truncate(time.Minute).Equal(now.Truncate(time.Minute)) {
		last, out = out[i], out[:i]
	}
	last.At = now.UTC().Truncate(time.Second)
	last.Pods += e.Pods
	last.Of = max(last.Of, len(e.Live))
	last.Gone, last.Came, last.Empty = count(last.Gone, e.Gone), count(last.Came, e.Came), count(last.Empty, e.Empty)
	return append(out, last)
}

func count(was map[string]int, nodes []*snapshot.Node) map[string]int {
	if len(nodes) == 0 {
		return was
	}
	out := maps.Clone(was)
	if out == nil {
		out = map[string]int{}
	}
	for _, n := range nodes {
		out[Kind(n)]++
	}
	return out
}

// Evictions are those of the last hour, and when the first of them is over.
func Evictions(p *snapshot.Pool, now time.Time) (pods int, until time.Time) {
	for _, m := range p.Moves {
		if over := m.At.Add(Hour); m.Pods > 0 && now.Before(over) {
			pods += m.Pods
			if until.IsZero() {
				until = over
			}
		}
	}
	return pods, until
}

// withReturns are the moves of a pool with what has come back as far as its machines
// show: those that were launched, not as replacements, soon after a move had removed
// others of their kind; no more of a kind than were removed.
func withReturns(p *snapshot.Pool, nodes []*snapshot.Node) []snapshot.PoolMove {
	seen := map[int]map[string]int{} // by move and kind
	for _, n := range nodes {
		k := Kind(n)
		i := slices.IndexFunc(p.Moves, func(m snapshot.PoolMove) bool {
			return m.Gone[k]+m.Empty[k] > 0 && n.Claim.Created.After(m.At) && n.Claim.Created.Sub(m.At) <= Soon
		})
		if i < 0 || n.Claim.Annotations[snapshot.ReplacesAnnotation] != "" {
			continue
		}
		if seen[i] == nil {
			seen[i] = map[string]int{}
		}
		seen[i][k]++
	}
	out := slices.Clone(p.Moves)
	for i, kinds := range seen {
		back := maps.Clone(out[i].Back)
		if back == nil {
			back = map[string]int{}
		}
		for k, n := range kinds {
			back[k] = max(back[k], min(n, out[i].Gone[k]+out[i].Empty[k]))
		}
		out[i].Back = back
	}
	return out
}

// Lesson is what a pool has learned from machines that came back; the zero value if none
// did.
type Lesson struct {
	// Rest is how much longer than consolidateAfter machines must be quiet. What they are
	// needed for comes again within that time.
	Rest time.Duration
	// Again is for how long what has come to the pool may come again: without the machines
	// that go there must be room for it.
	Again time.Duration
	// Kind is that of the machine that came back last.
	Kind string
}

// Learn reads a lesson off the moves of a pool; the nodes are all of the pool's. That
// machines came back makes Rest Soon and half as long again. Each time after the second
// within a day doubles it; moves within Soon of each other are one time. It is never more
// than loopFreeze. Again is four times Rest. In a large pool machines of a kind come and go
// anyway: one of forty must have come back, of those that there were then: a pool does not
// forget by growing.
func Learn(p *snapshot.Pool, nodes []*snapshot.Node, now time.Time) Lesson {
	freeze := *p.Policy.Disruption.Defaulted().LoopFreeze
	if len(p.Moves) == 0 || freeze == 0 {
		return Lesson{}
	}
	var l Lesson
	machines, of, times, last := 0, len(nodes), 0, time.Time{}
	for _, m := range withReturns(p, nodes) {
		if len(m.Back) == 0 || now.Sub(m.At) > week {
			continue
		}
		if now.Sub(m.At) <= day && m.At.Sub(last) > Soon {
			times, last = times+1, m.At
		}
		for _, k := range slices.Sorted(maps.Keys(m.Back)) {
			machines += m.Back[k]
			l.Kind = k
		}
		of = min(of, cmp.Or(m.Of, of))
	}
	if machines < max(1, of/40) {
		return Lesson{}
	}
	l.Rest = min(Soon*3/2<<min(max(times-2, 0), 8), freeze)
	l.Again = 4 * l.Rest
	return l
}

// arrival is within what time of a full hour what is scheduled for it has come.
const arrival = 2 * time.Minute

// Struck is when the full hour, in UTC, will have struck for which a pool that has learned waits;
// zero if it waits for none. What people and CronJobs schedule begins at full hours and
// takes room: what went within Soon before would be brought back for those whose room it was.
func (l Lesson) Struck(now time.Time) time.Time {
	if until := now.Add(min(l.Rest, Soon)).Truncate(time.Hour).Add(arrival); l.Rest > 0 && now.Before(until) {
		return until
	}
	return time.Time{}
}

// Undone reports whether a move would bring back what an earlier one removed, in place of
// what that launched: the kind that would come back, and until when that is too soon.
func Undone(p *snapshot.Pool, gone []*snapshot.Node, launch []catalog.Choice, now time.Time) (kind string, until time.Time, undone bool) {
	freeze := *p.Policy.Disruption.Defaulted().LoopFreeze
	for _, m := range p.Moves {
		over := m.At.Add(freeze)
		if !now.Before(over) || !slices.ContainsFunc(gone, func(n *snapshot.Node) bool { return m.Came[Kind(n)] > 0 }) {
			continue
		}
		for _, c := range launch {
			if k := KindOf(c); m.Gone[k] > 0 && m.Came[k] == 0 && !over.Before(until) {
				kind, until, undone = cmp.Or(kind, k), over, true
			}
		}
	}
	return kind, until, undone
}
