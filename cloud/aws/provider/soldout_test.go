package provider

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/vpc"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/cloud/aws/network"
	"github.com/millwright-dev/millwright/engine/catalog"
)

func capacityTypeOf(o *catalog.Offering) string { return o.CapacityType }

// toBeHad are the offerings of a class that can be had, by some trait.
func (r *rig) toBeHad(p *Provider, of func(*catalog.Offering) string) map[string]bool {
	r.t.Helper()
	types, err := p.InstanceTypes(r.t.Context(), classRef)
	r.must(err)
	out := map[string]bool{}
	for _, typ := range types {
		for i := range typ.Offerings {
			if o := &typ.Offerings[i]; o.Available {
				out[of(o)] = true
			}
		}
	}
	return out
}

// A reservation that EC2 says is full, although its count says otherwise, or that does not exist
// any more, does not rule out another of the same type and zone.
func TestAReservationWithoutRoomIsNoOthers(t *testing.T) {
	for name, fault := range map[string]func(http.ResponseWriter, func(http.ResponseWriter)){
		"of the whole call":       fails(http.StatusBadRequest, "ReservationCapacityExceeded", "full"),
		"of the offering":         nil,
		"gone, of the whole call": fails(http.StatusBadRequest, "InvalidCapacityReservationId.NotFound", "The capacity reservation ID 'cr-1' does not exist"),
		"gone, of the offering":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "m5.large")
			for _, id := range []string{"cr-1", "cr-2"} {
				r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: id, Type: "m5.large", Zone: "us-east-1b", Total: 1, Tags: ml})
			}
			p := r.provider()
			r.resolved(p, reserving)
			first := r.request(p, "claim", func(c catalog.Choice) bool { return c.Offering.Reservation == "cr-1" })
			gone := strings.HasPrefix(name, "gone")
			switch {
			case fault != nil:
				r.next("CreateFleet", 1, fault)
			case gone:
				r.must(r.cloud.EC2.Remove("cr-1"))
			default:
				_, err := p.Launch(t.Context(), r.request(p, "other", func(c catalog.Choice) bool { return c.Offering.Reservation == "cr-1" }))
				r.must(err)
			}
			var short *cloud.InsufficientCapacityError
			if _, err := p.Launch(t.Context(), first); !errors.As(err, &short) || len(short.Offerings) > 0 || !strings.Contains(err.Error(), "full") && !strings.Contains(err.Error(), "capacity reservation cr-1 has no room") && !(gone && strings.Contains(err.Error(), "The capacity reservation ID 'cr-1' does not exist")) {
				t.Errorf("answered %v", err)
			}
			left := r.toBeHad(p, func(o *catalog.Offering) string { return o.Reservation })
			if left["cr-1"] || !left["cr-2"] {
				t.Errorf("there is room in %v", left)
			}
			if i, err := p.Launch(t.Context(), r.request(p, "second", reserved)); err != nil || i.Labels[ec2class.LabelCapacityReservationID] != "cr-2" {
				t.Errorf("launched %+v, error %v", i, err)
			}
		})
	}
}

// A zone whose emptiest subnet turns out to be full has another one, for the same claim.
func TestAFullSubnetGivesWayToAnotherOfItsZone(t *testing.T) {
	r := newRig(t)
	n := vpc.Default("us-east-1", "demo")
	small, large := n.Subnets[0], n.Subnets[0]
	small.SubnetId, small.CidrBlock, large.SubnetId, large.CidrBlock = "subnet-small", "10.1.0.0/29", "subnet-large", "10.1.1.0/29" // 3 addresses each
	n.Subnets = []vpc.Subnet{small, large}
	var err error
	r.cloud, err = awstest.New(awstest.Config{Clock: r.clock, Network: &n, Types: few(t, "m5.large", "m5.xlarge")})
	r.must(err)
	p := r.provider()
	r.resolved(p, discovering)
	believed := func(small, large int64) {
		p.addresses.Seen([]network.Subnet{{ID: "subnet-small", Free: small}, {ID: "subnet-large", Free: large}})
	}
	for i, want := range []string{"subnet-small", "subnet-small", "subnet-small", "subnet-large", "subnet-large", "subnet-large"} {
		believed(1000, 200)
		got, err := p.Launch(t.Context(), r.request(p, fmt.Sprint("claim-", i), onDemand))
		r.must(err)
		id, err := idOf(got.ProviderID)
		r.must(err)
		if m, err := p.AWS.Instance(t.Context(), id); err != nil || m.Subnet != want {
			t.Errorf("machine %d is in %s, want %s, error %v", i, m.Subnet, want, err)
		}
	}
	// Where no other has room the zone is left out for a while, whatever was asked for, and its
	// offerings say why. Other launches may be about to take what the other had.
	believed(1000, -200)
	var short *cloud.InsufficientCapacityError
	req := r.request(p, "last", onDemand)
	req.Choices = req.Choices[:1]
	if _, err := p.Launch(t.Context(), req); !errors.As(err, &short) || !strings.Contains(short.Cause, "subnet-small") {
		t.Errorf("answered %v", err)
	}
	lacking := func() (out []string) {
		types, err := p.InstanceTypes(t.Context(), classRef)
		r.must(err)
		for _, offered := range types {
			for _, o := range offered.Offerings {
				if o.CapacityType == catalog.OnDemand && (o.Lacks != "" || !o.Available) {
					out = append(out, fmt.Sprintf("%s in %s lacks %s", offered.Name, o.Zone, o.Lacks))
				}
			}
		}
		return out
	}
	const want = "[m5.large in us-east-1a lacks free addresses in the subnets of us-east-1a m5.xlarge in us-east-1a lacks free addresses in the subnets of us-east-1a]"
	if got := fmt.Sprint(lacking()); got != want {
		t.Errorf("left out are %v, want %v", got, want)
	}
	r.clock.Step(shortest)
	if got := lacking(); len(got) != 0 {
		t.Errorf("after %v left out are %v", shortest, got)
	}
	// Once EC2 says so itself, nothing has to fail.
	launches := r.calls["CreateFleet"]
	r.again(p, discovering)
	if got := fmt.Sprint(lacking()); got != want || r.calls["CreateFleet"] != launches {
		t.Errorf("left out are %v, want %v, after %d launches", got, want, r.calls["CreateFleet"]-launches)
	}
}

// What a quota keeps from being launched says so where it is offered.
func TestWhatAQuotaLeavesOutSaysSo(t *testing.T) {
	r := newRig(t, "m5.large")
	p := r.provider()
	r.must(r.cloud.EC2.SetCapacity("m5.large/us-east-1a/on-demand", 0, wire.Errorf("VcpuLimitExceeded", "no more vCPUs")))
	r.must(r.cloud.EC2.SetCapacity("m5.large/us-east-1b/on-demand", 0, nil))
	_, err := p.Launch(t.Context(), r.request(p, "claim", func(c catalog.Choice) bool {
		return onDemand(c) && (c.Offering.Zone == "us-east-1a" || c.Offering.Zone == "us-east-1b")
	}))
	var short *cloud.InsufficientCapacityError
	if !errors.As(err, &short) {
		t.Errorf("answered %v", err)
	}
	lacks := map[string]string{}
	types, err := p.InstanceTypes(t.Context(), classRef)
	r.must(err)
	for _, o := range types[0].Offerings {
		if o.CapacityType == catalog.OnDemand && !o.Available {
			lacks[o.Zone] = o.Lacks
		}
	}
	if lacks["us-east-1a"] != "VCPULimitExceeded: no more vCPUs" || lacks["us-east-1b"] != "" {
		t.Errorf("offerings lack %q", lacks)
	}
}

// What is bought instead of spot says why, once: then spot is not asked for any more.
func TestAMachineThatTakesThePlaceOfSpotSaysWhy(t *testing.T) {
	r := newRig(t, "m5.large")
	p := r.provider()
	r.must(r.cloud.EC2.SetCapacity("*/*/spot", 0, wire.Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")))
	any := func(catalog.Choice) bool { return true }
	for i, want := range []string{"SpotQuotaExceeded: Max spot instance count exceeded", ""} {
		req := r.request(p, fmt.Sprint("claim-", i), any)
		failed := map[cloud.LaunchFailure]bool{}
		req.Failed = func(f cloud.LaunchFailure) { failed[f] = true }
		got, err := p.Launch(t.Context(), req)
		r.must(err)
		if f := (cloud.LaunchFailure{Zone: "us-east-1b", ZoneID: "use1-az2", CapacityType: catalog.Spot, Reason: "SpotQuotaExceeded"}); failed[f] != (want != "") {
			t.Errorf("for machine %d it is told of %v", i, failed)
		}
		if got.CapacityType != catalog.OnDemand || got.Lacked != want {
			t.Errorf("machine %d is %s and lacked %q, want %q", i, got.CapacityType, got.Lacked, want)
		}
	}
}

// Without the right to make the role for spot no type can be had so, whichever was asked for.
func TestWithoutSpotsRoleNoSpotIsAskedFor(t *testing.T) {
	const code, message = "AuthFailure.ServiceLinkedRoleCreationNotPermitted", "no role for spot"
	inAnswer := func(w http.ResponseWriter, _ func(http.ResponseWriter)) {
		_, _ = w.Write([]byte("<CreateFleetResponse><fleetId>fleet-1</fleetId><errorSet><item><errorCode>" + code + "</errorCode><errorMessage>" + message + "</errorMessage></item></errorSet></CreateFleetResponse>"))
	}
	for name, answer := range map[string]func(http.ResponseWriter, func(http.ResponseWriter)){"of the whole call": fails(http.StatusForbidden, code, message), "of a fleet": inAnswer} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "m5.large", "m6g.large")
			p := r.provider()
			req := r.request(p, "claim", func(c catalog.Choice) bool {
				return c.Offering.CapacityType == catalog.Spot && c.Type.Name == "m5.large"
			})
			r.next("CreateFleet", 1, answer)
			var short *cloud.InsufficientCapacityError
			if _, err := p.Launch(t.Context(), req); !errors.As(err, &short) || !strings.Contains(short.Cause, message) {
				t.Errorf("answered %v", err)
			}
			if left := r.toBeHad(p, capacityTypeOf); left[catalog.Spot] || !left[catalog.OnDemand] {
				t.Errorf("to be had is %v", left)
			}
			r.clock.Step(shortest)
			if left := r.toBeHad(p, capacityTypeOf); !left[catalog.Spot] {
				t.Error("spot is not tried again")
			}
		})
	}
}
