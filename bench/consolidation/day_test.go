package consolidation

import (
	"context"
	"testing"

	"github.com/millwright-dev/millwright/bench/fleet"
)

func TestADayOfConsolidationSavesWithFewEvictions(t *testing.T) {
	days := live(t, Regimes(), 24)
	for _, d := range days {
		if saved := days[0].Dollars - d.Dollars; float64(d.Evictions) > 30*saved {
			t.Errorf("%s: %d evictions saved $%.2f", d.Regime, d.Evictions, saved)
		}
	}
	eager, calm := days[1], days[3]
	if eager.Dollars >= days[0].Dollars || calm.Evictions >= eager.Evictions {
		t.Error("consolidation should save, and calm consolidation should evict less")
	}
}

func TestKarpenterLivesThroughTheSameDay(t *testing.T) {
	days := live(t, OfKarpenter()[:2], 4)
	empty, eager := days[0], days[1]
	if empty.Evictions > 0 || eager.Evictions == 0 || eager.Dollars >= empty.Dollars {
		t.Error("only consolidation of machines in use should evict, and save by it")
	}
}

func live(t *testing.T, regimes []Regime, hours int) []Day {
	t.Helper()
	var out []Day
	for _, g := range regimes {
		d, err := Live(context.Background(), g, fleet.Small(), 1, hours)
		if err != nil {
			t.Fatalf("%s: %v", g.Name, err)
		}
		t.Logf("%+v", d)
		out = append(out, d)
	}
	return out
}
