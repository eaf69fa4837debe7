package consolidation

import (
	"testing"

	"github.com/millwright-dev/millwright/bench/fleet"
)

func TestADayOfConsolidationSavesWithFewEvictions(t *testing.T) {
	days, err := Days(fleet.Small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		t.Logf("%+v", d)
		if saved := days[0].Dollars - d.Dollars; float64(d.Evictions) > 30*saved {
			t.Errorf("%s: %d evictions saved $%.2f", d.Regime, d.Evictions, saved)
		}
	}
	eager, calm := days[1], days[3]
	if eager.Dollars >= days[0].Dollars || calm.Evictions >= eager.Evictions {
		t.Error("consolidation should save, and calm consolidation should evict less")
	}
}
