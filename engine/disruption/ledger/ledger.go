// Package ledger remembers what voluntary disruption did to a pool, and reads off it
// what had better not be done again.
//
//	Note      what is done ──► the pool's moves, with those that are too old left out
//	Evictions how many pods were evicted in the last hour
//	Looping   machines that were removed and came back, again and again
//	Undone    a replacement that an earlier one would be undone by
//
// The moves are kept on the NodePool, because the machines that they are about are
// gone. What is done within a minute is one move. Evictions are remembered for an hour,
// machines for a day, in no more moves than most.
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

// often is how many machines have to come back within a day for a loop: two, and in a
// large pool, where more come and go, a twentieth of the machines.
func often(machines int) int { return max(2, (machines+19)/20) }

// day is for how long machines are remembered, and the longest that a pool rests.
const day = 24 * time.Hour

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

// Entry is something to be noted about a pool: so many pods are evicted, and if it is
// for a saving, which machines go and which have come in their place.
type Entry struct {
	Pods       int
	Gone, Came []*snapshot.Node
}

// Note adds what is done now.
func Note(p *snapshot.Pool, e Entry, now time.Time) []snapshot.PoolMove {
	minute := now.UTC().Truncate(time.Minute)
	left := len(p.Moves)
	out := slices.DeleteFunc(slices.Clone(p.Moves), func(m snapshot.PoolMove) bool {
		left--
		age := now.Sub(m.At)
		return age > day || age > Hour+time.Minute && (len(m.Gone) == 0 || left >= most)
	})
	last := snapshot.PoolMove{At: minute}
	if i := len(out) - 1; i >= 0 && out[i].At.Equal(minute) {
		last, out = out[i], out[:i]
	}
	last.Pods += e.Pods
	last.Gone, last.Back = count(last.Gone, e.Gone), count(last.Back, returned(p, e.Gone))
	last.Came = count(last.Came, e.Came)
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

// returned are the machines that were launched, not as replacements, soon after others
// of their kind had been removed from the pool; no more of a kind than were removed.
func returned(p *snapshot.Pool, nodes []*snapshot.Node) []*snapshot.Node {
	var out []*snapshot.Node
	taken := map[int]map[string]int{} // by move and kind
	for _, n := range nodes {
		k := Kind(n)
		at := slices.IndexFunc(p.Moves, func(m snapshot.PoolMove) bool {
			return m.Gone[k] > 0 && n.Claim.Created.After(m.At) && n.Claim.Created.Sub(m.At) <= Soon
		})
		if at < 0 || n.Claim.Annotations[snapshot.ReplacesAnnotation] != "" || taken[at][k] >= p.Moves[at].Gone[k] {
			continue
		}
		if taken[at] == nil {
			taken[at] = map[string]int{}
		}
		taken[at][k]++
		out = append(out, n)
	}
	return out
}

// Looping reports whether machines that were removed from a pool came back within a day,
// often enough for a loop: the kind of the latest, and until when the pool rests. That is
// twice as long for each further one, in a large pool for each further few. The nodes are
// all of the pool's.
func Looping(p *snapshot.Pool, nodes []*snapshot.Node, now time.Time) (kind string, until time.Time, loops bool) {
	if len(p.Moves) == 0 {
		return "", time.Time{}, false
	}
	var latest time.Time
	count := 0
	came := func(k string, n int, at time.Time) {
		if n == 0 || now.Sub(at) > day {
			return
		}
		count += n
		if at.After(latest) {
			kind, latest = k, at
		}
	}
	for _, n := range returned(p, nodes) {
		came(Kind(n), 1, n.Claim.Created)
	}
	for _, m := range p.Moves {
		for _, k := range slices.Sorted(maps.Keys(m.Back)) {
			came(k, m.Back[k], m.At)
		}
	}
	least := often(len(nodes))
	if count < least {
		return "", time.Time{}, false
	}
	rest := p.Policy.Disruption.Defaulted().LoopFreeze
	for range min((count-least)/(least-1), 16) {
		rest = min(2*rest, day)
	}
	until = latest.Add(rest)
	return kind, until, now.Before(until)
}

// Undone reports whether a move would bring back what an earlier one removed, in place of
// what that launched: the kind that would come back, and until when that is too soon.
func Undone(p *snapshot.Pool, gone []*snapshot.Node, launch []catalog.Choice, now time.Time) (kind string, until time.Time, undone bool) {
	freeze := p.Policy.Disruption.Defaulted().LoopFreeze
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
