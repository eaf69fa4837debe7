package interruption_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// reclaiming is a snapshot in which machines of offerings are being taken back, each
// of the pool p.
func reclaiming(now time.Time, remembered []snapshot.Risk, offerings ...catalog.Key) (*snapshot.Snapshot, []interruption.Event) {
	s := &snapshot.Snapshot{Now: now, Pools: []*snapshot.Pool{{Name: "p", Risks: remembered}}}
	var events []interruption.Event
	for _, k := range offerings {
		name := k.Type + k.Zone
		labels := map[string]string{corev1.LabelInstanceTypeStable: k.Type, corev1.LabelTopologyZone: k.Zone, catalog.CapacityTypeLabel: k.CapacityType}
		s.Nodes = append(s.Nodes, &snapshot.Node{Name: name, Claim: &snapshot.Claim{Name: name, Pool: "p", ProviderID: name, Labels: labels}})
		events = append(events, interruption.Event{ID: name, Kind: interruption.Spot, Machine: name, NotBefore: now.Add(2 * time.Minute)})
	}
	return s, events
}

func TestAnOfferingRestsTwiceAsLongEachTimeItIsReclaimed(t *testing.T) {
	k := catalog.Key{Type: "m", Zone: "a", CapacityType: "spot"}
	now := start
	var remembered []snapshot.Risk
	look := func() (time.Duration, bool) {
		s, events := reclaiming(now, remembered, k)
		risks := interruption.Decide(s, events).Risks(s)
		list, changed := risks.Changed["p"]
		if changed {
			remembered = list
		}
		return risks.Until[k].Sub(now), changed
	}
	for i, want := range []time.Duration{3, 6, 12, 24, 48, 60, 60} {
		if rest, changed := look(); rest != want*time.Minute || !changed || len(remembered) != 1 {
			t.Errorf("time %d: rests %s, want %s; remembered %v", i+1, rest, want*time.Minute, remembered)
		}
		now = now.Add(time.Second)
		if rest, changed := look(); rest != want*time.Minute-time.Second || changed {
			t.Errorf("what rests was noted again: %s", rest)
		}
		now = remembered[0].Until
	}
	now = now.Add(time.Hour + time.Second)
	if rest, _ := look(); rest != interruption.Risky {
		t.Errorf("after an hour without: rests %s", rest)
	}
}

func TestWhatAPoolRemembersOfAStormIsBoundedByTheLastHours(t *testing.T) {
	a, b, c := catalog.Key{Type: "m", Zone: "a", CapacityType: "spot"}, catalog.Key{Type: "m", Zone: "b", CapacityType: "spot"}, catalog.Key{Type: "m", Zone: "c", CapacityType: "spot"}
	remembered := []snapshot.Risk{
		{Type: "m", Zone: "a", CapacityType: "spot", Times: 2, Until: start.Add(time.Minute)},
		{Type: "m", Zone: "z", CapacityType: "spot", Times: 1, Until: start.Add(-2 * time.Hour)},
	}
	s, events := reclaiming(start, remembered, c, a, b)
	risks := interruption.Decide(s, events).Risks(s)
	if list := risks.Changed["p"]; len(list) != 3 || list[0] != remembered[0] || list[1].Key() != b || list[2].Key() != c {
		t.Errorf("remembered %v", list)
	}
	if !risks.Until[a].Equal(start.Add(time.Minute)) || !risks.Until[b].Equal(start.Add(interruption.Risky)) || len(risks.Until) != 3 {
		t.Errorf("resting %v", risks.Until)
	}
}
