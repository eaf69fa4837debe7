package placement_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/placement"
)

// tiny is a cluster of three nodes that cannot grow, with two kinds of pods, the
// first of which has topology constraints: small enough to try everything.
type tiny struct {
	zones [3]string
	cpus  [3]int
	kinds [2]kind
}

// kind is a number of pods, each of one CPU, with one rule or none: spread, near or
// apart, over zones (by 0) or nodes (by 1), about the pods of a kind.
type kind struct {
	count           int
	rule            string
	by, about, skew int
}

func newTiny(rng *rand.Rand, about int) *tiny {
	w := &tiny{}
	for i := range w.zones {
		w.zones[i], w.cpus[i] = string(rune('a'+rng.IntN(3))), 1+rng.IntN(3)
	}
	rules := []string{"spread", "near", "apart"}
	w.kinds[0] = kind{1 + rng.IntN(3), rules[rng.IntN(3)], rng.IntN(2), about, 1 + rng.IntN(2)}
	w.kinds[1] = kind{count: rng.IntN(4)}
	return w
}

// story is the cluster in the language of scenarios.
func (w *tiny) story() string {
	var b strings.Builder
	for i := range w.zones {
		fmt.Fprintf(&b, "type t%d cpu=%d memory=64Gi zones=%s\n", i, w.cpus[i], w.zones[i])
	}
	b.WriteString("pool main limits=nodes:0\n")
	for i, zone := range w.zones {
		fmt.Fprintf(&b, "node n%d type=t%d pool=main zone=%s\n", i, i, zone)
	}
	for i, k := range w.kinds {
		key := []string{"zone", "host"}[k.by]
		if k.count == 0 {
			continue
		}
		fmt.Fprintf(&b, "pod k%d count=%d cpu=1 labels=app:k%d", i, k.count, i)
		switch k.rule {
		case "spread":
			fmt.Fprintf(&b, " spread=%s:%d:app:k%d", key, k.skew, k.about)
		case "near", "apart":
			fmt.Fprintf(&b, " %s=%s:app:k%d", k.rule, key, k.about)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// state is how many pods of each kind are on each node.
type state [2][3]int

// most is how many pods can be bound at most, in whatever order.
func (w *tiny) most(s state, seen map[state]int) int {
	if known, ok := seen[s]; ok {
		return known
	}
	best := 0
	for k := range w.kinds {
		for n := range w.zones {
			if w.binds(s, k, n) {
				next := s
				next[k][n]++
				best = max(best, 1+w.most(next, seen))
			}
		}
	}
	seen[s] = best
	return best
}

// binds reports whether kube-scheduler would bind one more pod of a kind to a node.
func (w *tiny) binds(s state, k, n int) bool {
	if s[k][0]+s[k][1]+s[k][2] == w.kinds[k].count || s[0][n]+s[1][n] == w.cpus[n] {
		return false
	}
	for owner := range w.kinds {
		r := &w.kinds[owner]
		if r.rule == "apart" && r.about == k && w.near(s, owner, r.by, n) > 0 {
			return false
		}
	}
	r := &w.kinds[k]
	there := w.near(s, r.about, r.by, n)
	switch r.rule {
	case "apart":
		return there == 0
	case "near":
		first := r.about == k && s[k] == [3]int{}
		return there > 0 || first
	case "spread":
		least := there
		for other := range w.zones {
			least = min(least, w.near(s, r.about, r.by, other))
		}
		if r.about == k {
			there++
		}
		return there-least <= r.skew
	}
	return true
}

// near is how many pods of a kind are in a node's zone, or on it.
func (w *tiny) near(s state, k, by, n int) int {
	sum := 0
	for other, zone := range w.zones {
		if other == n || by == 0 && zone == w.zones[n] {
			sum += s[k][other]
		}
	}
	return sum
}

// More is never placed than can be bound, and hardly ever less: domains are given out before
// machines. The first kind is about itself, or about the second, which then comes first.
func TestAsManyPodsArePlacedAsCanBeBound(t *testing.T) {
	for about, perThousand := range []int{5, 90} {
		property.Rarely(t, 4000, perThousand, func(world *rand.Rand) bool {
			w := newTiny(world, about)
			placed, most := w.placed(), w.most(state{}, map[state]int{})
			if placed > most {
				t.Errorf("%d pods placed where %d can be bound\n%s", placed, most, w.story())
			}
			return placed < most
		})
	}
}

func (w *tiny) placed() int {
	s := &enginetest.Scenario{}
	for line := range strings.Lines(w.story()) {
		s.Do(silent{}, storytest.Parse(strings.TrimSpace(line)))
	}
	return len(placement.Solve(&s.Snapshot, placement.Options{}).Placements)
}

type silent struct{ testing.TB }

func (silent) Helper() {}
