package consolidation

import (
	"testing"

	"github.com/millwright-dev/millwright/bench/fleet"
)

// fewLoops is how many machines may come back in a day whose load comes back every ten
// minutes: they are what tells that it is one.
const fewLoops = 8

func TestADayHasFewLoopsAndCalmPoliciesEvictLess(t *testing.T) {
	days, err := Days(fleet.Small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		t.Logf("%+v", d)
		if d.Loops > fewLoops {
			t.Errorf("%s: %d machines came back", d.Regime, d.Loops)
		}
	}
	eager, calm := days[1], days[3]
	if eager.Dollars >= days[0].Dollars || calm.Evictions >= eager.Evictions {
		t.Error("consolidation should save, and calm consolidation should evict less")
	}
}
