package consolidation

import (
	"testing"

	"github.com/millwright-dev/millwright/bench/fleet"
)

func TestADayHasNoLoopsAndCalmPoliciesEvictLess(t *testing.T) {
	days, err := Days(fleet.Small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		t.Logf("%+v", d)
		if d.Loops > 0 || d.First+d.Grown > 3 {
			t.Errorf("%s: %d machines came back at first, %d with new highs, %d in loops", d.Regime, d.First, d.Grown, d.Loops)
		}
	}
	eager, calm := days[1], days[3]
	if eager.Dollars >= days[0].Dollars || calm.Evictions >= eager.Evictions {
		t.Error("consolidation should save, and calm consolidation should evict less")
	}
}
