package price

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
)

func TestPricesAreThoseThatWereHeardLast(t *testing.T) {
	b, err := NewBook("eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	check := func(when, typeName, zone, capacityType string, want float64, sold bool) {
		t.Helper()
		if got, ok := b.Of(typeName, zone, capacityType); got != want || ok != sold {
			t.Errorf("%s: %s %s in %s costs %v (sold: %v), want %v (%v)", when, capacityType, typeName, zone, got, ok, want, sold)
		}
	}
	check("at first", "m5.large", "a", catalog.OnDemand, 0.096, true)
	check("at first", "m5.large", "a", catalog.Spot, 0.096, true)
	check("at first", "x9.large", "a", catalog.OnDemand, 0, false)

	b.List(map[string]float64{"m5.large": 0.107, "x9.large": 1}, noon)
	check("listed", "m5.large", "a", catalog.OnDemand, 0.107, true)
	check("listed", "x9.large", "a", catalog.Spot, 1, true)
	check("listed", "c5.large", "a", catalog.OnDemand, 0.085, true)

	b.Trade([]Spot{{"m5.large", "a", 0.04, noon}, {"m5.large", "a", 0.05, noon.Add(-time.Hour)}}, noon)
	check("traded", "m5.large", "a", catalog.Spot, 0.04, true)
	check("traded", "m5.large", "b", catalog.Spot, 0, false)

	b.List(nil, noon.Add(time.Hour))
	if listed, traded := b.Updated(); !listed.Equal(noon) || !traded.Equal(noon) {
		t.Errorf("updated %v, %v", listed, traded)
	}
}
