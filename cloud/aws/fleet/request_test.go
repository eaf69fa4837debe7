package fleet

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/engine/catalog"
)

func choice(typeName, zone, capacityType string, price float64) catalog.Choice {
	return catalog.Choice{
		Type:     &catalog.Type{Name: typeName},
		Offering: &catalog.Offering{Zone: zone, CapacityType: capacityType, Price: price, Available: true},
	}
}

func drawn(waves []Wave) string {
	var out []string
	for _, w := range waves {
		line := w.CapacityType + w.Reservation + ":"
		for _, c := range w.Choices {
			line += " " + c.Type.Name + "/" + c.Offering.Zone
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestWavesAreOfOneCapacityTypeInTheOrderOfTheBestChoice(t *testing.T) {
	reserved := choice("m5.large", "a", catalog.Reserved, 0)
	reserved.Offering.Reservation = "cr-1"
	second := choice("m5.large", "b", catalog.Reserved, 0)
	second.Offering.Reservation = "cr-2"
	for name, tt := range map[string]struct {
		choices []catalog.Choice
		want    string
	}{
		"spot between on-demand": {
			[]catalog.Choice{choice("a", "a", catalog.Spot, 1), choice("b", "a", catalog.OnDemand, 2), choice("c", "a", catalog.Spot, 2), choice("d", "a", catalog.OnDemand, 3)},
			"spot: a/a c/a\non-demand: b/a d/a",
		},
		"spot that costs more than on-demand": {
			[]catalog.Choice{choice("b", "a", catalog.OnDemand, 1), choice("a", "a", catalog.Spot, 2)},
			"on-demand: b/a",
		},
		"dear spot alone":             {[]catalog.Choice{choice("a", "a", catalog.Spot, 9), choice("b", "a", catalog.Spot, 10)}, "spot: a/a b/a"},
		"a wave for each reservation": {[]catalog.Choice{reserved, second, choice("m5.large", "a", catalog.Spot, 1)}, "reservedcr-1: m5.large/a\nreservedcr-2: m5.large/b\nspot: m5.large/a"},
		"the same offering twice":     {[]catalog.Choice{choice("a", "a", catalog.Spot, 1), choice("a", "a", catalog.Spot, 1)}, "spot: a/a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawn(Waves(tt.choices)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestARequestNamesAtMostFiftyLaunchTemplates(t *testing.T) {
	var choices []catalog.Choice
	for n := range 60 {
		choices = append(choices, choice(fmt.Sprintf("t%02d", n), "a", catalog.OnDemand, float64(n)))
	}
	for each, want := range map[int]int{1: 50, 2: 60} {
		template := func(c catalog.Choice) string {
			n, _ := strconv.Atoi(c.Type.Name[1:])
			return fmt.Sprint(n / each)
		}
		whole := Waves(choices)[0]
		wave := whole.Within(template)
		request := New(&wave, Parts{Subnet: map[string]string{"a": "subnet-1"}, Template: template, Image: func(catalog.Choice) string { return "" }})
		if len(wave.Choices) != want || wave.Choices[want-1].Type.Name != choices[want-1].Type.Name || len(request.Configs) != want/each {
			t.Errorf("with a template for %d types: %d choices and %d templates", each, len(wave.Choices), len(request.Configs))
		}
	}
}

func TestAWaveNamesAtMostSixtyTypes(t *testing.T) {
	var choices []catalog.Choice
	for i := range 100 {
		for _, zone := range []string{"a", "b"} {
			choices = append(choices, choice(fmt.Sprintf("type-%03d", i), zone, catalog.Spot, float64(i)))
		}
	}
	w := Waves(choices)[0]
	if w.types() != 60 || len(w.Choices) != 120 || w.Choices[119].Type.Name != "type-059" {
		t.Errorf("%d types in %d choices, the last %s", w.types(), len(w.Choices), w.Choices[119].Type.Name)
	}
}

func parts() Parts {
	return Parts{
		Token: Token("uid", 0), Subnet: map[string]string{"a": "subnet-a", "b": "subnet-b"}, Tags: map[string]string{"k": "v"}, Context: "c",
		Template: func(c catalog.Choice) string { return "template-" + c.Type.Name[:1] },
		Image:    func(catalog.Choice) string { return "ami-1" },
	}
}

func TestTheRequestFollowsTheOrderOfTheChoices(t *testing.T) {
	w := &Wave{CapacityType: catalog.OnDemand, Choices: []catalog.Choice{
		choice("m5.large", "a", catalog.OnDemand, 1), choice("c5.large", "b", catalog.OnDemand, 2),
		choice("m5.xlarge", "b", catalog.OnDemand, 3), choice("m5.xlarge", "without-subnet", catalog.OnDemand, 3),
	}}
	got := New(w, parts())
	want := Request{
		Token: "uid", CapacityType: "on-demand", Target: "on-demand", Strategy: "prioritized", Tags: map[string]string{"k": "v"}, Context: "c",
		Configs: []Config{
			{"template-c", []Override{{"c5.large", "b", "subnet-b", "ami-1", 1}}},
			{"template-m", []Override{{"m5.large", "a", "subnet-a", "ami-1", 0}, {"m5.xlarge", "b", "subnet-b", "ami-1", 2}}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if again := New(w, parts()); !reflect.DeepEqual(again, got) {
		t.Errorf("the same wave gave %+v, then %+v", got, again)
	}
}

func TestTargetAndStrategyFollowTheCapacityType(t *testing.T) {
	for _, tt := range []struct {
		capacityType, kind string
		interruptible      bool
		want               string
	}{
		{catalog.Spot, "", false, "spot price-capacity-optimized"},
		{catalog.OnDemand, "", false, "on-demand prioritized"},
		{catalog.Reserved, "default", false, "on-demand prioritized"},
		{catalog.Reserved, "default", true, "reserved-capacity prioritized"},
		{catalog.Reserved, "capacity-block", false, "capacity-block "},
	} {
		p := parts()
		p.Kind, p.Interruptible = tt.kind, tt.interruptible
		r := New(&Wave{CapacityType: tt.capacityType}, p)
		if got := r.Target + " " + r.Strategy; got != tt.want {
			t.Errorf("%s %s %v: %q, want %q", tt.capacityType, tt.kind, tt.interruptible, got, tt.want)
		}
	}
	repriced := &Wave{CapacityType: catalog.Spot, Choices: []catalog.Choice{{Type: &catalog.Type{}, Offering: &catalog.Offering{PricedBy: "overlay"}}}}
	if got := New(repriced, parts()).Strategy; got != CapacityPrioritized {
		t.Errorf("for prices that EC2 does not know the strategy is %s", got)
	}
}

func TestAttemptsHaveTokensOfTheirOwn(t *testing.T) {
	if a, b := Token("uid", 0), Token("uid", 2); a != "uid" || b != "uid-2" {
		t.Errorf("tokens are %s, %s", a, b)
	}
}
