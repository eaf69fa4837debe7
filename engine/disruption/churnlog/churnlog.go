// Package churnlog remembers what voluntary disruption did to a pool: how many pods it evicted,
// what its moves saved, and how much of that was soon spent again.
//
//	Note      what is done ──► the pool's entries, without those that are too old
//	Evictions how many pods were evicted lately
//	Wasted    how much of the savings of a day was spent again, and which share
//
// It is kept on the NodePool, because the machines that it is about are gone. What is done
// within a minute is one entry; entries are kept for a day. Empty machines are in none: no
// pod moves when they go.
package churnlog

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Soon is how soon after a move what is launched for pods counts as what the move saved,
// spent again.
const Soon = 10 * time.Minute

// day is for how long entries are kept: no shorter than any loopFreeze.
const day = 24 * time.Hour

// most bounds how many entries are kept: those of four hours, if pods go in every minute.
const most = 240

// Machine is one of a pool, with its price in $/h.
type Machine struct {
	*snapshot.Node
	Price float64
}

// Knows reports whether a command is noted that does now what it was noted for.
func Knows(p *snapshot.Pool, command string) bool {
	return len(p.Moves) > 0 && slices.Contains(p.Moves[len(p.Moves)-1].Commands, command)
}

// Note adds what is done now, and what has been spent again of what was saved before, as the
// pool's machines show. The commands that do it come with those that do and are known already.
// It is nil if there is nothing new.
func Note(p *snapshot.Pool, machines []Machine, e snapshot.PoolMove, now time.Time) []snapshot.PoolMove {
	known := spentAgain(p, machines)
	if e.Pods == 0 && slices.EqualFunc(known, p.Moves, func(a, b snapshot.PoolMove) bool { return a.Spent == b.Spent }) {
		return nil
	}
	out := slices.DeleteFunc(known, func(m snapshot.PoolMove) bool { return now.Sub(m.At) > day })
	out = out[max(0, len(out)-most):]
	if e.Pods == 0 {
		return out
	}
	last := snapshot.PoolMove{}
	if i := len(out) - 1; i >= 0 && out[i].At.Truncate(time.Minute).Equal(now.Truncate(time.Minute)) {
		last, out = out[i], out[:i]
	} else if i >= 0 {
		out[i].Commands = nil
	}
	last.Commands = slices.Compact(slices.Sorted(slices.Values(slices.Concat(last.Commands, e.Commands))))
	last.At = now.UTC().Truncate(time.Second)
	last.Pods += e.Pods
	last.Saved += e.Saved
	return append(out, last)
}

// spentAgain are the entries of a pool with what was spent again as far as its machines
// show: the price of those that were launched for pods soon after, rolling updates aside, at most
// what was saved.
func spentAgain(p *snapshot.Pool, machines []Machine) []snapshot.PoolMove {
	out := slices.Clone(p.Moves)
	spent := make([]float64, len(out))
	for _, m := range machines {
		if m.Claim.Annotations[snapshot.ReplacesAnnotation] != "" || m.Claim.Annotations[RolloutAnnotation] != "" {
			continue
		}
		price := m.Price
		for i := range out {
			if age := m.Claim.Created.Sub(out[i].At); age > 0 && age <= Soon {
				part := min(price, out[i].Saved-spent[i])
				spent[i], price = spent[i]+part, price-part
			}
		}
	}
	for i := range out {
		out[i].Spent = max(out[i].Spent, spent[i])
	}
	return out
}

// Evictions are those of a span of at most a day until now, and when the
// first of them is forgotten.
func Evictions(p *snapshot.Pool, now time.Time, span time.Duration) (pods int, until time.Time) {
	for _, m := range p.Moves {
		if over := m.At.Add(span); now.Before(over) {
			pods += m.Pods
			if until.IsZero() {
				until = over
			}
		}
	}
	return pods, until
}

// Wasted is how much of what moves saved in the last day was soon spent again, in $/h, and as a
// share. The share is taken as if moves had saved the price of the whole pool besides, for good:
// one small move of a large pool that was undone says little about the next.
func Wasted(p *snapshot.Pool, machines []Machine, now time.Time) (spent, share float64) {
	saved := 0.0
	for _, m := range machines {
		saved += m.Price
	}
	for _, m := range spentAgain(p, machines) {
		if now.Sub(m.At) <= day {
			saved, spent = saved+m.Saved, spent+m.Spent
		}
	}
	if spent == 0 {
		return 0, 0
	}
	return spent, spent / saved
}
