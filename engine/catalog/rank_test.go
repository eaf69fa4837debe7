package catalog

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/requirement"
)

func testType(name, cpu string, offerings ...Offering) *Type {
	var zones, capacityTypes []string
	for _, o := range offerings {
		zones, capacityTypes = append(zones, o.Zone), append(capacityTypes, o.CapacityType)
	}
	return &Type{
		Name: name, Offerings: offerings,
		Requirements: requirement.NewSet(
			requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, name),
			requirement.Must(corev1.LabelTopologyZone, requirement.In, zones...),
			requirement.Must(CapacityTypeLabel, requirement.In, capacityTypes...),
			requirement.Must("gpu", requirement.DoesNotExist),
		),
		Capacity: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi")},
		Overhead: corev1.ResourceList{"cpu": resource.MustParse("100m")},
	}
}

func offer(zone, capacityType string, price float64) Offering {
	return Offering{Zone: zone, CapacityType: capacityType, Price: price, Available: true}
}

func printed(choices []Choice) string {
	var out []string
	for _, c := range choices {
		out = append(out, fmt.Sprintf("%s/%s/%s", c.Type.Name, c.Offering.Zone, c.Offering.CapacityType))
	}
	return strings.Join(out, " ")
}

func TestRank(t *testing.T) {
	soldOut := offer("b", OnDemand, 0.01)
	soldOut.Available = false
	reserved := offer("a", Reserved, 0)
	reserved.Labels = map[string]string{"reservation": "r-1"}
	types := []*Type{
		testType("small", "2", offer("a", OnDemand, 0.1), offer("a", Spot, 0.04), soldOut),
		testType("large", "8", offer("b", OnDemand, 0.4), offer("a", OnDemand, 0.4), reserved),
		testType("also-small", "2", offer("a", OnDemand, 0.1)),
	}
	metal := testType("metal", "2", offer("c", OnDemand, 0.01), offer("d", OnDemand, 0.01))
	metal.Exotic, metal.BareMetal = true, true
	paid := offer("c", Reserved, 0.5)
	metal.Offerings = append(metal.Offerings, paid)
	accelerated := testType("accelerated", "2", offer("e", OnDemand, 0.5))
	accelerated.Exotic = true
	types = append(types, metal, accelerated)
	in := func(key string, values ...string) requirement.Requirement {
		return requirement.Must(key, requirement.In, values...)
	}
	tests := map[string]struct {
		want        requirement.Set
		requests    corev1.ResourceList
		unavailable func(Key) bool
		ranked      string
	}{
		"cheapest first, then by name and zone": {nil, nil, nil,
			"large/a/reserved small/a/spot also-small/a/on-demand small/a/on-demand large/a/on-demand large/b/on-demand metal/c/reserved"},
		"exotic, and nothing else will do":      {requirement.NewSet(in(corev1.LabelTopologyZone, "d")), nil, nil, "metal/d/on-demand"},
		"bare metal where accelerators will do": {requirement.NewSet(in(corev1.LabelTopologyZone, "d", "e")), nil, nil, "accelerated/e/on-demand"},
		"exotic, and minValues": {requirement.NewSet(in(corev1.LabelTopologyZone, "b", "d"), requirement.Must(corev1.LabelInstanceTypeStable, requirement.Exists).WithMinValues(2)), nil, nil,
			"metal/d/on-demand large/b/on-demand"},
		"zone and capacity type are the offering's": {requirement.NewSet(in(corev1.LabelTopologyZone, "b"), in(CapacityTypeLabel, OnDemand)), nil, nil,
			"large/b/on-demand"},
		"overhead cannot be requested": {nil, corev1.ResourceList{"cpu": resource.MustParse("1950m")}, nil,
			"large/a/reserved large/a/on-demand large/b/on-demand"},
		"a resource that no type has": {nil, corev1.ResourceList{"gpu": resource.MustParse("1")}, nil, ""},
		"none of it may be requested of any": {requirement.NewSet(in(corev1.LabelInstanceTypeStable, "small")),
			corev1.ResourceList{"gpu": resource.MustParse("0")}, nil, "small/a/spot small/a/on-demand"},
		"labels of an offering":          {requirement.NewSet(in("reservation", "r-2"), in(CapacityTypeLabel, Reserved)), nil, nil, ""},
		"a key that is known to be open": {requirement.NewSet(in("team", "x"), in(CapacityTypeLabel, Spot)), nil, nil, "small/a/spot"},
		"a label that types lack":        {requirement.NewSet(requirement.Must("gpu", requirement.Exists)), nil, nil, ""},
		"what was refused is left out": {requirement.NewSet(in(CapacityTypeLabel, Spot, Reserved)), nil,
			func(k Key) bool { return k == Key{"small", "a", Spot} }, "large/a/reserved"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := printed(Rank(types, tt.want, tt.requests, tt.unavailable)); got != tt.ranked {
				t.Errorf("ranked\n%s, want\n%s", got, tt.ranked)
			}
		})
	}
}

func TestRankLeavesItsInputAlone(t *testing.T) {
	types := []*Type{testType("small", "2", offer("a", OnDemand, 0.1))}
	Rank(types, nil, corev1.ResourceList{"cpu": resource.MustParse("1")}, nil)
	if got := types[0].Capacity["cpu"]; got.String() != "2" {
		t.Errorf("capacity became %s", got.String())
	}
}

func TestAllocatableIsNeverNegative(t *testing.T) {
	small := testType("small", "50m", offer("a", OnDemand, 0.1))
	if got := small.Allocatable()["cpu"]; !got.IsZero() {
		t.Errorf("allocatable is %s", got.String())
	}
}

func BenchmarkRank(b *testing.B) {
	var types []*Type
	for i := range 900 {
		types = append(types, testType(fmt.Sprintf("type-%03d", i), fmt.Sprint(1+i%64),
			offer("a", OnDemand, float64(i)), offer("b", OnDemand, float64(i)), offer("c", OnDemand, float64(i)), offer("a", Spot, float64(i)/2)))
	}
	want := requirement.NewSet(requirement.Must(corev1.LabelTopologyZone, requirement.In, "a", "b"))
	requests := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("4Gi")}
	for b.Loop() {
		Rank(types, want, requests, nil)
	}
}
