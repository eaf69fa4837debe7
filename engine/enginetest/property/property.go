// Package property checks properties on random inputs that are the same in every
// run. -rapid.seed=N or RAPID_SEED=N chooses others; a failure prints its seed.
// -full plays four times as many worlds where a test counts them.
package property

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

// fixed is the seed where nobody chooses one.
const fixed = "20260101"

// Check is rapid.Check with inputs that do not change from run to run.
func Check(t *testing.T, holds func(*rapid.T)) {
	t.Helper()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		if err := f.Value.Set(fixed); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, holds)
}

var full = flag.Bool("full", false, "count all worlds in tests that count, not a quarter of them")

// Worlds is how many worlds a test should count: all of them with -full, otherwise a
// quarter.
func Worlds(all int) int {
	if *full {
		return all
	}
	return max(1, all/4)
}
