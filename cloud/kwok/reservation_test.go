package kwok

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const reservedForm = `[{
	"name": "m.large", "architecture": "amd64", "operatingSystems": ["linux"],
	"resources": {"cpu": "2", "memory": "8Gi"},
	"offerings": [
		{"Price": 0.1, "Requirements": [
			{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
			{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
		]},
		{"Price": 0.001, "ReservationCapacity": 1, "Requirements": [
			{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]},
			{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]},
			{"key": "karpenter.k8s.aws/capacity-reservation-id", "operator": "In", "values": ["cr-1"]}
		]}
	]
}]`

func TestAReservationHoldsSoManyMachines(t *testing.T) {
	w := newWorld(t)
	w.Provider = New(Config{Client: w.client, Clock: w.clock, Types: read(t, reservedForm)})
	class := snapshot.ClassRef{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"}
	launch := func(token string) (cloud.Instance, error) {
		kind := read(t, reservedForm)[0]
		o, _ := kind.Offering("a", catalog.Reserved)
		return w.Launch(t.Context(), cloud.LaunchRequest{Token: token, Claim: token, Class: class, Choices: []catalog.Choice{{Type: kind, Offering: &o}}})
	}
	room := func() int {
		types, err := w.InstanceTypes(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		o, _ := types[0].Offering("a", catalog.Reserved)
		if o.Available != (o.Left > 0) {
			t.Errorf("an offering with room for %d is available: %t", o.Left, o.Available)
		}
		return o.Left
	}
	if n := room(); n != 1 {
		t.Errorf("room for %d machines, want 1", n)
	}
	first, err := launch("one")
	if err != nil || first.Labels[reservationLabel] != "cr-1" || first.CapacityType != catalog.Reserved {
		t.Fatalf("got %+v, %v", first, err)
	}
	if n := room(); n != 0 {
		t.Errorf("room for %d machines, want 0", n)
	}
	var full *cloud.InsufficientCapacityError
	if _, err := launch("two"); !errors.As(err, &full) {
		t.Errorf("a second machine: got %v", err)
	}
	if err := w.Terminate(t.Context(), first.ProviderID); err != nil {
		t.Fatal(err)
	}
	if n := room(); n != 1 {
		t.Errorf("room for %d machines after the first was stopped, want 1", n)
	}
}

func TestAReservationNeedsItsIDAndCapacityType(t *testing.T) {
	for change, want := range map[string]string{
		`"ReservationCapacity": -1`:       "reservationCapacity: -1 is negative",
		`"karpenter.example/reservation"`: "needs a requirement karpenter.k8s.aws/capacity-reservation-id",
		`"spot"`:                          "only for capacityType reserved, not spot",
	} {
		old := map[byte]string{'R': `"ReservationCapacity": 1`, 'k': `"karpenter.k8s.aws/capacity-reservation-id"`, 's': `"reserved"`}[change[1]]
		_, err := ReadCatalogue(strings.NewReader(strings.Replace(reservedForm, old, change, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", change, err)
		}
	}
}

func TestAWrittenReservationReadsBackTheSame(t *testing.T) {
	var file bytes.Buffer
	want := read(t, reservedForm)
	if err := WriteCatalogue(&file, want); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file.String()); fmt.Sprint(got[0].Offerings) != fmt.Sprint(want[0].Offerings) {
		t.Errorf("got %v, want %v", got[0].Offerings, want[0].Offerings)
	}
}
