package provider

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/cloud/aws/fleet"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// refusedIn answers CreateFleet with a fleet that has launched nothing.
func refusedIn(code, message string) func(http.ResponseWriter, func(http.ResponseWriter)) {
	return func(w http.ResponseWriter, _ func(http.ResponseWriter)) {
		_, _ = w.Write([]byte("<CreateFleetResponse><fleetId>fleet-1</fleetId><errorSet><item><errorCode>" + code + "</errorCode><errorMessage>" + message + "</errorMessage></item></errorSet></CreateFleetResponse>"))
	}
}

// EC2 may have a fault for spot alone, for hours. What another capacity type can do is not waited
// for any longer than a machine is looked for.
func TestAFaultOfOneCapacityTypeDoesNotHoldUpAClaim(t *testing.T) {
	r := newRig(t, "m5.large")
	p := r.provider()
	broken := fails(http.StatusInternalServerError, "InternalError", "An internal error has occurred")
	req := r.request(p, "claim", func(catalog.Choice) bool { return true })
	var failed []cloud.LaunchFailure
	req.Failed = func(f cloud.LaunchFailure) { failed = append(failed, f) }
	for range 3 {
		r.next("CreateFleet", 1, broken)
		if i, err := p.Launch(t.Context(), req); err == nil || len(failed) > 0 {
			t.Fatalf("launched %+v at once, failures %v", i, failed)
		}
		r.clock.Step(fleet.Doubt / 4)
	}
	r.clock.Step(fleet.Doubt)
	r.next("CreateFleet", 1, broken)
	i, err := p.Launch(t.Context(), req)
	if err != nil || i.CapacityType != catalog.OnDemand || !strings.Contains(i.Lacked, "InternalError") || r.machines() != 1 {
		t.Fatalf("launched %+v of %d, error %v", i, r.machines(), err)
	}
	if want := (cloud.LaunchFailure{CapacityType: catalog.Spot, Reason: "InternalError"}); len(failed) != 1 || failed[0] != want {
		t.Errorf("told of %v, want %v", failed, want)
	}
	// The next claim tries spot again.
	if i, err := p.Launch(t.Context(), r.request(p, "second", func(catalog.Choice) bool { return true })); err != nil || i.CapacityType != catalog.Spot {
		t.Errorf("launched %+v, error %v", i, err)
	}
}

// A request that EC2 has carried out without a word has its machine, however long that is not shown.
func TestAFaultAfterTheLaunchMakesNoSecondMachine(t *testing.T) {
	r := newRig(t, "m5.large")
	p := r.provider()
	req := r.request(p, "claim", func(catalog.Choice) bool { return true })
	r.next("CreateFleet", 1, loses)
	if _, err := p.Launch(t.Context(), req); err == nil {
		t.Fatal("the reply was not lost")
	}
	r.clock.Step(2 * fleet.Doubt)
	r.next("CreateFleet", 1, fails(http.StatusInternalServerError, "InternalError", "An internal error has occurred"))
	if i, err := p.Launch(t.Context(), req); err != nil || i.CapacityType != catalog.Spot || r.machines() != 1 {
		t.Errorf("launched %+v of %d, error %v", i, r.machines(), err)
	}
}

// Where every capacity type is at fault nothing is ruled out: each is tried again.
func TestAFaultOfAllCapacityTypesIsWaitedFor(t *testing.T) {
	r := newRig(t, "m5.large")
	p := r.provider()
	req := r.request(p, "claim", func(catalog.Choice) bool { return true })
	r.next("CreateFleet", 100, fails(http.StatusInternalServerError, "InternalError", "An internal error has occurred"))
	for range 8 {
		var short *cloud.InsufficientCapacityError
		if _, err := p.Launch(t.Context(), req); err == nil || errors.As(err, &short) {
			t.Fatalf("answered %v", err)
		}
		r.clock.Step(fleet.Doubt)
	}
	r.next("CreateFleet", 0, nil)
	if i, err := p.Launch(t.Context(), req); err != nil || r.machines() != 1 {
		t.Errorf("once EC2 works it launched %+v of %d, error %v", i, r.machines(), err)
	}
}

// A fleet that is refused as too frequent says nothing of what could be had: what costs more is not
// bought instead.
func TestAReservationIsNotPassedOverBecauseOfThrottling(t *testing.T) {
	r := newRig(t, "m5.large")
	r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", Total: 1, Tags: ml})
	p := r.provider()
	r.resolved(p, reserving)
	req := r.request(p, "claim", func(catalog.Choice) bool { return true })
	r.next("CreateFleet", 1, refusedIn("RequestLimitExceeded", "Request limit exceeded."))
	var throttled *cloud.ThrottledError
	if i, err := p.Launch(t.Context(), req); !errors.As(err, &throttled) {
		t.Fatalf("launched %+v, error %v", i, err)
	}
	if i, err := p.Launch(t.Context(), req); err != nil || i.Labels[ec2class.LabelCapacityReservationID] != "cr-1" {
		t.Errorf("launched %+v, error %v", i, err)
	}
}

// A type that a zone does not have so is sold out there, in whichever words EC2 says it: another pool
// may have what the pods need.
func TestATypeThatAZoneDoesNotHaveIsNotAskedForAgain(t *testing.T) {
	for code, message := range map[string]string{
		"InvalidFleetConfiguration": "Your requested instance type (m5.large) is not supported in your requested Availability Zone (us-east-1a).",
		"UnsupportedOperation":      "IPv6 is not supported for the instance type 'm5.large'.",
	} {
		r := newRig(t, "m5.large")
		p := r.provider()
		r.must(r.cloud.EC2.SetCapacity("m5.large/*/spot", 0, wire.Errorf(code, "%s", message)))
		_, err := p.Launch(t.Context(), r.request(p, "claim", func(c catalog.Choice) bool { return c.Offering.CapacityType == catalog.Spot }))
		var short *cloud.InsufficientCapacityError
		if !errors.As(err, &short) || !strings.Contains(err.Error(), "m5.large") {
			t.Errorf("%s: answered %v", code, err)
		}
		if left := r.toBeHad(p, capacityTypeOf); left[catalog.Spot] || !left[catalog.OnDemand] {
			t.Errorf("%s: to be had is %v", code, left)
		}
	}
}

// A process that starts while EC2 makes no launch templates launches from those that are there.
func TestAFaultOfLaunchTemplatesDoesNotMatterWhereTheyAreThere(t *testing.T) {
	r := newRig(t, "m5.large")
	_, err := r.provider().Launch(t.Context(), r.request(r.provider(), "first", onDemand))
	r.must(err)
	p := r.provider()
	r.next("CreateLaunchTemplate", 100, fails(http.StatusInternalServerError, "InternalError", "An internal error has occurred"))
	if i, err := p.Launch(t.Context(), r.request(p, "second", onDemand)); err != nil || r.machines() != 2 {
		t.Errorf("launched %+v of %d, error %v", i, r.machines(), err)
	}
	other := r.request(p, "third", onDemand)
	other.Labels = map[string]string{"team": "y"}
	if _, err := p.Launch(t.Context(), other); err == nil || !strings.Contains(err.Error(), "CreateLaunchTemplate") || r.calls["CreateFleet"] != 3 {
		t.Errorf("of a template that is not there the error is %v, after %d fleets", err, r.calls["CreateFleet"])
	}
	r.next("CreateLaunchTemplate", 0, nil)
	if _, err := p.Launch(t.Context(), other); err != nil || r.machines() != 3 {
		t.Errorf("once templates are made again the error is %v, with %d machines", err, r.machines())
	}
}
