package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/requirement"
)

const reservationID = "karpenter.k8s.aws/capacity-reservation-id"

// two are types of two zones, the second of which has a reservation, too.
func two() []*Type {
	at := func(zone, capacityType string, price float64) Offering {
		return Offering{Zone: zone, CapacityType: capacityType, Price: price, Available: true}
	}
	reserved := at("b", Reserved, 0)
	reserved.Labels = map[string]string{reservationID: "cr-1"}
	named := func(name string, ids ...string) requirement.Set {
		out := requirement.NewSet(requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, name),
			requirement.Must(corev1.LabelTopologyZone, requirement.In, "a", "b"), requirement.Must(CapacityTypeLabel, requirement.In, OnDemand, Spot, Reserved))
		if len(ids) > 0 {
			out = out.With(requirement.Must(reservationID, requirement.In, ids...))
		}
		return out
	}
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")}
	return []*Type{
		{Name: "m", Requirements: named("m"), Capacity: size, Offerings: []Offering{at("a", OnDemand, 2), at("b", Spot, 1)}},
		{Name: "n", Requirements: named("n", "cr-1"), Capacity: size, Offerings: []Offering{at("a", OnDemand, 4), reserved}},
	}
}

func overlay(name string, weight int32, price *PriceChange, capacity string, rs ...requirement.Requirement) Overlay {
	o := Overlay{Name: name, Weight: weight, Requirements: requirement.NewSet(rs...), Price: price}
	if resourceName, amount, ok := strings.Cut(capacity, "="); ok {
		o.Capacity = corev1.ResourceList{corev1.ResourceName(resourceName): resource.MustParse(amount)}
	}
	return o
}

// shown is what overlays may change, with the name of the one that has, as in "m a/on-demand 2!half b/spot 1".
func shown(types []*Type) string {
	var out []string
	for _, t := range types {
		line := t.Name
		for _, name := range []corev1.ResourceName{"example.com/slots", "hugepages-2Mi"} {
			if q, has := t.Capacity[name]; has {
				line += fmt.Sprintf(" %s=%s", name, q.String()+"!"+t.AddedBy[name])
			}
		}
		for _, o := range t.Offerings {
			line += fmt.Sprintf(" %s/%s %g", o.Zone, o.CapacityType, o.Price)
			if o.PricedBy != "" {
				line += "!" + o.PricedBy
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func TestOverlaysChangePricesAndCapacity(t *testing.T) {
	is := func(key string, values ...string) requirement.Requirement {
		return requirement.Must(key, requirement.In, values...)
	}
	half, plus, free := &PriceChange{Factor: 0.5}, &PriceChange{Factor: 1, Plus: 0.25}, &PriceChange{Factor: 1, Plus: -9}
	for _, c := range []struct {
		name     string
		overlays []Overlay
		want     string
	}{
		{"none", nil, "m a/on-demand 2 b/spot 1; n a/on-demand 4 b/reserved 0"},
		{"one type", []Overlay{overlay("o", 0, half, "", is(corev1.LabelInstanceTypeStable, "m"))}, "m a/on-demand 1!o b/spot 0.5!o; n a/on-demand 4 b/reserved 0"},
		{"one way to buy", []Overlay{overlay("o", 0, plus, "", is(CapacityTypeLabel, Spot))}, "m a/on-demand 2 b/spot 1.25!o; n a/on-demand 4 b/reserved 0"},
		{"one zone", []Overlay{overlay("o", 0, free, "", is(corev1.LabelTopologyZone, "a"))}, "m a/on-demand 2e-07!o b/spot 1; n a/on-demand 4e-07!o b/reserved 0"},
		{"one reservation", []Overlay{overlay("o", 0, plus, "", is(reservationID, "cr-1"))}, "m a/on-demand 2 b/spot 1; n a/on-demand 4 b/reserved 0.25!o"},
		{"what no node of the type has", []Overlay{overlay("o", 0, half, "", is("example.com/rack", "7"))}, "m a/on-demand 2 b/spot 1; n a/on-demand 4 b/reserved 0"},
		{"what need not be there", []Overlay{overlay("o", 0, half, "", requirement.Must("example.com/rack", requirement.NotIn, "7"))}, "m a/on-demand 1!o b/spot 0.5!o; n a/on-demand 2!o b/reserved 0!o"},
		{"a label of the pool", []Overlay{overlay("o", 0, half, "", is("team", "blue"), is(corev1.LabelInstanceTypeStable, "n"))}, "m a/on-demand 2 b/spot 1; n a/on-demand 2!o b/reserved 0!o"},
		{"another pool's", []Overlay{overlay("o", 0, half, "", is("team", "red"))}, "m a/on-demand 2 b/spot 1; n a/on-demand 4 b/reserved 0"},
		{"capacity", []Overlay{overlay("o", 0, nil, "example.com/slots=3", is(corev1.LabelInstanceTypeStable, "m"))}, "m example.com/slots=3!o a/on-demand 2 b/spot 1; n a/on-demand 4 b/reserved 0"},
		{"the highest weight counts, for each price and resource", []Overlay{
			overlay("low", 1, plus, "example.com/slots=1"), overlay("high", 2, half, "hugepages-2Mi=1Gi", is(corev1.LabelTopologyZone, "a")),
		}, "m example.com/slots=1!low hugepages-2Mi=1Gi!high a/on-demand 1!high b/spot 1.25!low; n example.com/slots=1!low hugepages-2Mi=1Gi!high a/on-demand 2!high b/reserved 0.25!low"},
	} {
		before := two()
		got := Overlaid(before, map[string]string{"team": "blue"}, c.overlays)
		if shown(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, shown(got), c.want)
		}
		if shown(before) != "m a/on-demand 2 b/spot 1; n a/on-demand 4 b/reserved 0" {
			t.Errorf("%s: the types themselves are changed: %s", c.name, shown(before))
		}
		for i := range got {
			if same := shown(got[i:i+1]) == shown(before[i:i+1]); same != (got[i] == before[i]) {
				t.Errorf("%s: type %s is shared: %t", c.name, got[i].Name, got[i] == before[i])
			}
		}
	}
}

func TestOverlaysOfOneWeightContradictEachOtherWhereTheyChangeTheSame(t *testing.T) {
	is := func(key string, values ...string) requirement.Requirement {
		return requirement.Must(key, requirement.In, values...)
	}
	half := &PriceChange{Factor: 0.5}
	a := overlay("a", 5, half, "", is(corev1.LabelTopologyZone, "a"))
	for _, c := range []struct {
		name  string
		other Overlay
		want  string
	}{
		{"the same price", overlay("b", 5, half, "", is(corev1.LabelInstanceTypeStable, "n")), "a gives way to b"},
		{"of another weight", overlay("b", 6, half, "", is(corev1.LabelInstanceTypeStable, "n")), ""},
		{"other offerings", overlay("b", 5, half, "", is(corev1.LabelTopologyZone, "b")), ""},
		{"a resource and a price", overlay("b", 5, nil, "example.com/slots=1"), ""},
		{"types of no pool", overlay("b", 5, half, "", is("team", "red")), ""},
	} {
		got := Contradictions([]Overlay{a, c.other}, []Market{{map[string]string{"team": "blue"}, two()}})
		var said []string
		for name, by := range got {
			said = append(said, name+" gives way to "+by)
		}
		slices.Sort(said)
		if strings.Join(said, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, said, c.want)
		}
	}
	one, three := overlay("x", 0, nil, "example.com/slots=1"), overlay("y", 0, nil, "example.com/slots=3", is(corev1.LabelInstanceTypeStable, "m"))
	if got := Contradictions([]Overlay{one, three}, []Market{{nil, two()}}); got["x"] != "y" || len(got) != 1 {
		t.Errorf("of two that change one resource: %v", got)
	}
}
