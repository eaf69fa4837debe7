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
		"ReservedCapacity=false":                                    "classes that select capacity reservations use them all the same",
		"DynamicResources=true,SpotToSpotConsolidation=false":       "DynamicResources has no effect; " + spot,
		"NodeClassCEL=true":                                         "NodeClassCEL has no effect",
	} {
		g := OfKarpenter()
		if err := g.Set(text); err != nil {
			t.Fatal(err)
		}
		if got := g.Judge(); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestTheProvidersGatesAreOthers(t *testing.T) {
	g := OfAWS()
	if err := g.Set("NodeClassCEL=true,DRANVIDIAGPU=true,DRAEFA=true,RebootForRepair=true"); err != nil || !g.On(NodeClassCEL) || !g.On(RebootForRepair) || g.Judge() != "DRAEFA has no effect" {
		t.Errorf("%v, %t, %t, %q", err, g.On(NodeClassCEL), g.On(RebootForRepair), g.Judge())
	}
}
