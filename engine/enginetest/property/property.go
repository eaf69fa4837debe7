// Package property checks properties on random inputs that are the same in every
// run. -rapid.seed=N or RAPID_SEED=N chooses others; a failure prints its seed.
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
