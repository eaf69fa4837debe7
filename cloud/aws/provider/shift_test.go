package provider

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/engine/interruption"
)

// available lists the zones in which anything can be had.
func (r *rig) available(p *Provider) map[string]bool {
	r.t.Helper()
	types, err := p.InstanceTypes(r.t.Context(), classRef)
	r.must(err)
	out := map[string]bool{}
	for _, typ := range types {
		for _, o := range typ.Offerings {
			if o.Available {
				out[o.Zone] = true
			}
		}
	}
	return out
}

func TestNothingIsLaunchedInAZoneThatTrafficIsShiftedAwayFrom(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	cluster, err := p.AWS.Cluster(t.Context(), "demo")
	r.must(err)
	p.ClusterARN = cluster.ARN
	subnet := readyClass().Status.Subnets[0]
	before := len(r.available(p))

	shift := r.cloud.ShiftAway(subnet.ZoneID, time.Hour)
	r.must(p.readShifts(t.Context()))
	if got := r.available(p); got[subnet.Zone] || len(got) != before-1 {
		t.Errorf("with a shift away from %s, machines can be had in %v", subnet.Zone, got)
	}
	events, err := p.Events(t.Context())
	if err != nil || len(events) != 1 {
		t.Fatalf("announced %v, error %v", events, err)
	}
	if e := events[0]; e.ID != shift || e.Kind != interruption.ZoneImpaired || e.Zone != subnet.Zone || !e.Confirmed || e.Check() != nil {
		t.Errorf("announced %+v", e)
	}

	r.cloud.CancelShift(shift)
	other := r.cloud.ShiftAway(readyClass().Status.Subnets[1].ZoneID, time.Minute)
	r.must(p.readShifts(t.Context()))
	if events, _ := p.Events(t.Context()); len(events) != 1 || events[0].ID != other {
		t.Errorf("when one was cancelled and another began, announced %v", events)
	}
	if !r.available(p)[subnet.Zone] {
		t.Error("the shift was cancelled, and nothing can be had in its zone")
	}
	r.clock.Step(time.Minute)
	if events, _ := p.Events(t.Context()); len(events) > 0 || len(r.available(p)) != before {
		t.Errorf("when the shift has ended by itself, announced %v", events)
	}
}
