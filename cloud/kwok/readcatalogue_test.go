package kwok

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
)

const simpleForm = `[{
	"name": "g5.4xlarge", "architecture": "amd64", "operatingSystems": ["linux"],
	"resources": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": 1},
	"offerings": [
		{"capacityType": "on-demand", "zone": "b", "price": 1.7},
		{"capacityType": "spot", "zone": "a", "price": 0.5}
	]
}]`

const longForm = `[{
	"name": "s-4x-amd64-linux", "architecture": "x86_64", "operatingSystems": ["linux", "windows"],
	"resources": {"cpu": "4", "memory": "16Gi", "pods": "64"},
	"offerings": [{"Price": 0.2, "Available": false, "Requirements": [
		{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
		{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]},
		{"key": "example.com/rack", "operator": "In", "values": ["7"]}
	]}]
}]`

func read(t *testing.T, s string) []*catalog.Type {
	t.Helper()
	types, err := ReadCatalogue(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func TestTheSimpleFormOfKWOKsFileIsRead(t *testing.T) {
	g5 := read(t, simpleForm)[0]
	if got := quantities(g5.Capacity, "cpu", "memory", "pods", "nvidia.com/gpu"); got != "16 64Gi 110 1" {
		t.Errorf("capacity is %s", got)
	}
	if got := quantities(g5.Allocatable(), "cpu", "memory"); got != "15900m 65526Mi" {
		t.Errorf("allocatable is %s", got)
	}
	if o := g5.Offerings[0]; o.Zone != "a" || o.CapacityType != "spot" || o.Price != 0.5 || !o.Available {
		t.Errorf("the first offering is %+v", o)
	}
	if got := g5.Requirements.Get("karpenter.kwok.sh/instance-size").String(); got != "karpenter.kwok.sh/instance-size In [4xlarge]" {
		t.Errorf("the size label is %s", got)
	}
}

func TestTheLongFormOfKWOKsFileIsRead(t *testing.T) {
	s4 := read(t, longForm)[0]
	o := s4.Offerings[0]
	if o.Available || o.Price != 0.2 || o.Labels["example.com/rack"] != "7" {
		t.Errorf("the offering is %+v", o)
	}
	for key, want := range map[string]string{
		corev1.LabelArchStable: "In [amd64]", corev1.LabelOSStable: "In [linux windows]", "example.com/rack": "In [7]",
		"karpenter.kwok.sh/instance-family": "In [s]", corev1.LabelTopologyRegion: "DoesNotExist",
	} {
		if got := s4.Requirements.Get(key).String(); got != key+" "+want {
			t.Errorf("requirement is %q, want %s", got, want)
		}
	}
}

func TestDevicesOfTypesAreRead(t *testing.T) {
	text := strings.Replace(simpleForm, `["linux"]`, `["linux"], "devices": [{"driver": "d", "name": "gpu-0", "attributes": {"model": {"string": "a"}}, "capacity": {"memory": {"value": "80Gi"}}}]`, 1)
	got := read(t, text)[0].Devices
	if len(got) != 1 || got[0].Driver != "d" || got[0].Name != "gpu-0" || *got[0].Attributes["model"].StringValue != "a" {
		t.Errorf("got %+v", got)
	}
}

func TestWhatIsFreeHasAPrice(t *testing.T) {
	if got := read(t, strings.Replace(simpleForm, "0.5", "0", 1))[0].Offerings[0].Price; got != catalog.PaidFor {
		t.Errorf("it is %g", got)
	}
}

func TestMistakesAreNamedByEntryTypeAndField(t *testing.T) {
	edit := func(old, new string) string { return strings.Replace(simpleForm, old, new, 1) }
	for _, c := range []struct{ input, want string }{
		{``, "want a JSON array"},
		{`{"items": []}`, "want an array, got object"},
		{`[]`, "the array is empty"},
		{`[7]`, " [0]: want an object"},
		{`[{}]`, " [0].name: missing"},
		{edit(`"amd64"`, `""`), "g5.4xlarge: [0].architecture: missing"},
		{edit(`["linux"]`, `[]`), "operatingSystems: missing"},
		{edit(`"16"`, `"sixteen"`), `resources.cpu: "sixteen" is not a quantity`},
		{edit(`"64Gi"`, `"-1"`), "resources.memory: \"-1\" is negative"},
		{edit(`"memory"`, `"mem"`), "resources.memory: missing"},
		{edit(`["linux"]`, `["linux"], "devices": [{"driver": "d"}]`), "devices[0]: driver and name are needed"},
		{edit(`["linux"]`, `["linux"], "devices": {}`), "devices: want an array, got object"},
		{edit(`1.7`, `"much"`), "offerings.price: want a number, got string"},
		{edit(`["linux"]`, `"linux"`), "operatingSystems: want an array, got string"},
		{edit(`1.7`, `1.7, "available": "yes"`), "offerings.available: want true or false, got string"},
		{edit(`1.7`, `1.7, "reservationCapacity": 1.5`), "offerings.reservationCapacity: want an integer, got number 1.5"},
		{edit(`, "price": 1.7`, ``), "offerings[0].price: missing"},
		{edit(`1.7`, `-1`), "offerings[0].price: -1 is not a price"},
		{edit(`"on-demand"`, `"cheap"`), `offerings[0].capacityType: want spot, on-demand or reserved, not "cheap"`},
		{edit(`"zone": "b"`, `"zone": ""`), "offerings[0].zone: missing"},
		{edit(`"spot", "zone": "a"`, `"on-demand", "zone": "b"`), "offerings[1].zone: b/on-demand is offered twice"},
		{strings.Replace(longForm, `"In", "values": ["a"]`, `"Exists"`, 1), "topology.kubernetes.io/zone: want operator In and one value"},
		{twice(simpleForm, edit("1.7", "1.8")), "g5.4xlarge: [1].name: [0] has it already, with other figures"},
	} {
		_, err := ReadCatalogue(strings.NewReader(c.input))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want an error with %q, got %v", c.want, err)
		}
	}
}

func TestAFloodOfMistakesIsCutShort(t *testing.T) {
	_, err := ReadCatalogue(strings.NewReader("[" + strings.Repeat("{},", 100) + "{}]"))
	if err == nil || !strings.Contains(err.Error(), "more mistakes") || strings.Count(err.Error(), "\n") > maxProblems {
		t.Errorf("got %v", err)
	}
}

func TestAWrittenCatalogueReadsBackTheSame(t *testing.T) {
	want := KWOKCatalogue()
	want[3].Offerings[0].Available = false
	var file bytes.Buffer
	if err := WriteCatalogue(&file, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadCatalogue(&file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, want, func(a, b *catalog.Type) bool { return show(a) == show(b) }) {
		t.Errorf("got %s\nwant %s", show(got[3]), show(want[3]))
	}
}

func show(t *catalog.Type) string {
	return fmt.Sprint(t.Name, t.Requirements, quantities(t.Capacity, "cpu", "memory", "pods", "ephemeral-storage"), t.Offerings)
}

func twice(a, b string) string {
	return strings.TrimSuffix(a, "]") + "," + strings.TrimPrefix(b, "[")
}

func TestEntriesOfOneNameThatDifferInOperatingSystemAreOneType(t *testing.T) {
	types := read(t, twice(simpleForm, strings.Replace(simpleForm, `"linux"`, `"windows"`, 1)))
	if len(types) != 1 {
		t.Fatalf("%d types, want 1", len(types))
	}
	if got := types[0].Requirements.Get(corev1.LabelOSStable).String(); got != "kubernetes.io/os In [linux windows]" {
		t.Errorf("operating systems are %s", got)
	}
}
