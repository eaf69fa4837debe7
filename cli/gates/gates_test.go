package gates

import "testing"

func TestWhatIsOtherwiseThanInKarpenterIsSaid(t *testing.T) {
	const spot = "spot machines are replaced by cheaper spot machines all the same, if that saves what spotToSpot of a NodePolicy asks, 20 % by default"
	for text, want := range map[string]string{
		"": "",
		"NodeRepair=true,ReservedCapacity=true,StaticCapacity=true": "",
		"SpotToSpotConsolidation=true,NodeOverlay=false":            "",
		"NodeOverlay=true,CapacityBuffer=true":                      "",
		"TerminateFirstDrift=true,TerminateFirstRepair=true":        "",
		"PodDeletionCostManagement=true":                            "",
		"SpotToSpotConsolidation=false":                             spot,
		"DynamicResources=true,SpotToSpotConsolidation=false":       "DynamicResources has no effect; " + spot,
	} {
		var g Gates
		if err := g.Set(text); err != nil {
			t.Fatal(err)
		}
		if got := g.Judge(); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
