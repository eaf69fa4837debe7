package price

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
)

func TestBuiltInPricesSayWhoseTheyAre(t *testing.T) {
	for region, want := range map[string]string{
		"eu-west-1":     "on-demand prices are the built-in ones of us-east-1, as of 2026-07-06; spot prices were not heard yet and count as the on-demand prices",
		"cn-north-1":    "on-demand prices are the built-in ones of cn-north-1, as of 2024-11-06; spot prices were not heard yet and count as the on-demand prices",
		"us-gov-west-1": "on-demand prices are the built-in ones of us-gov-west-1, as of 2026-06-15; spot prices were not heard yet and count as the on-demand prices",
	} {
		b, err := NewBook(region)
		if err != nil {
			t.Fatal(err)
		}
		if reason, message := b.Doubt(time.Now()); reason != BuiltIn || message != want {
			t.Errorf("%s: %s %q, want %q", region, reason, message, want)
		}
	}
}

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

	for at, want := range map[time.Duration]string{
		tradedFor: " ", tradedFor + 1: "Outdated spot prices were last heard on 2026-11-20T12:00:00Z",
		listedFor + 1: "Outdated on-demand prices were last heard on 2026-11-20T12:00:00Z; spot prices were last heard on 2026-11-20T12:00:00Z",
	} {
		if reason, message := b.Doubt(noon.Add(at)); reason+" "+message != want {
			t.Errorf("after %v the doubt is %s %q, want %s", at, reason, message, want)
		}
	}

	b.List(nil, noon.Add(time.Hour))
	if listed, traded := b.Updated(); !listed.Equal(noon) || !traded.Equal(noon) {
		t.Errorf("updated %v, %v", listed, traded)
	}
}
