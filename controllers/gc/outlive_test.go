package gc_test

import (
	"testing"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// reserving is a cloud with capacity reservations.
type reserving struct{ cloud.Provider }

func (reserving) ReservationLabels() []string { return []string{"example.com/reservation"} }

func TestAMachineWhoseReservationHasEndedIsOnDemand(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*scene)
		stage  string
		want   string
	}{
		"it has ended":                       {func(s *scene) { s.machine.CapacityType = catalog.OnDemand }, karpv1.ConditionTypeRegistered, catalog.OnDemand},
		"it stands":                          {func(s *scene) { s.machine.CapacityType = catalog.Reserved }, karpv1.ConditionTypeRegistered, catalog.Reserved},
		"the machine has not registered yet": {func(s *scene) { s.machine.CapacityType = catalog.OnDemand }, karpv1.ConditionTypeLaunched, catalog.Reserved},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Deps.Provider = reserving{s.Deps.Provider}
			labels := map[string]string{catalog.CapacityTypeLabel: catalog.Reserved, "example.com/reservation": "cr-1", "team": "x"}
			s.machine.Labels = labels
			claim, node := s.claim(tt.stage), s.node(true, true)
			claim.Labels = labels
			s.Must(s.Rig.Client.Update(ctx, claim))
			claim.Status.ProviderID, claim.Status.NodeName = "test://1", "n"
			s.Must(s.Rig.Client.Status().Update(ctx, claim))
			tt.change(s)
			s.sweep(t)
			s.Get(claim)
			s.Get(node)
			for _, got := range []map[string]string{claim.Labels, node.Labels} {
				if _, named := got["example.com/reservation"]; got[catalog.CapacityTypeLabel] != tt.want || named != (tt.want == catalog.Reserved) || got["team"] != "x" {
					t.Errorf("the labels are %v, want %s", got, tt.want)
				}
			}
		})
	}
}
