// Package property checks properties on random inputs that are the same in every
// run. -rapid.seed=N or RAPID_SEED=N chooses others; a failure prints its seed.
// -full plays four times as many, and all cases where a test lists them and plays a quarter.
package property

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// fixed is the seed by default.
const fixed = "20260101"

// all is rapid's default number of inputs, some what is played without -full.
const all, some = "100", "25"

// Check is rapid.Check with inputs that do not change from run to run: 25 of them, 100 with
// -full, or any other number by -rapid.checks or RAPID_CHECKS.
func Check(t *testing.T, holds func(*rapid.T)) {
	t.Helper()
	seed(t)
	if checks := flag.Lookup("rapid.checks"); !*full && checks.Value.String() == all {
		if err := checks.Value.Set(some); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, holds)
}

// seed is the one that was chosen, or the fixed one.
func seed(t *testing.T) uint64 {
	t.Helper()
	f := flag.Lookup("rapid.seed")
	if f.Value.String() == "0" {
		if err := f.Value.Set(fixed); err != nil {
			t.Fatal(err)
		}
	}
	n, err := strconv.ParseUint(f.Value.String(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var full = flag.Bool("full", false, "play all worlds and cases, not a quarter of them")

// Full reports whether everything is played.
func Full() bool { return *full }

// Some reports whether a test plays its i-th case: every fourth, or with -full each.
func Some(i int) bool { return *full || i%4 == 0 }

// Rarely counts how many of some random worlds, a quarter of them without -full, break what a
// greedy search cannot promise, and fails if they are more than some per thousand. A source
// gives the same numbers for the same world.
func Rarely(t *testing.T, count, perThousand int, breaks func(world *rand.Rand) bool) {
	t.Helper()
	first, worlds := seed(t), count
	if !*full {
		worlds = max(1, count/4)
	}
	var broken []int
	for i := range worlds {
		if breaks(rand.New(rand.NewPCG(first, uint64(i)))) {
			broken = append(broken, i)
		}
	}
	if most := (worlds*perThousand + 999) / 1000; len(broken) > most {
		t.Errorf("-rapid.seed=%d: the worlds %v break it, which %d of %d may", first, broken, most, worlds)
	}
}
