package provider

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/interruption"
)

func reserved(c catalog.Choice) bool { return c.Offering.CapacityType == catalog.Reserved }

// reserving makes the class select reservations by a tag, and resolves it.
func reserving(c *awsv1.EC2NodeClass) {
	discovering(c)
	c.Spec.CapacityReservationSelectorTerms = []ec2class.CapacityReservationSelectorTerm{{Tags: map[string]string{"team": "ml"}}}
}

var ml = map[string]string{"team": "ml"}

// again resolves the class anew, once it may be asked about again.
func (r *rig) again(p *Provider, change func(*awsv1.EC2NodeClass)) {
	r.clock.Step(2 * time.Minute)
	r.resolved(p, func(c *awsv1.EC2NodeClass) { change(c); c.Status.Conditions = nil })
}

func TestMachinesAreLaunchedIntoReservationsUntilTheseAreFull(t *testing.T) {
	for kind, want := range map[string]string{"default": "", "capacity-block": "capacity-block"} {
		r := newRig(t)
		r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", ReservationType: kind, Total: 1, Tags: ml})
		r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-other", Type: "m5.large", Zone: "us-east-1b", Total: 9})
		p := r.provider()
		r.resolved(p, reserving)
		req := r.request(p, "first", reserved)
		if len(req.Choices) != 1 || req.Choices[0].Offering.Reservation != "cr-1" {
			t.Fatalf("%s: the choices are %+v", kind, req.Choices)
		}
		first, err := p.Launch(t.Context(), req)
		r.must(err)
		if first.CapacityType != catalog.Reserved || first.Zone != "us-east-1b" || first.Labels[ec2class.LabelCapacityReservationID] != "cr-1" {
			t.Errorf("%s: launched %+v", kind, first)
		}
		r.clock.Step(boot)
		found, err := p.Get(t.Context(), first.ProviderID)
		r.must(err)
		if found.CapacityType != catalog.Reserved || want != "" && found.Labels[ec2class.LabelCapacityReservationType] != want {
			t.Errorf("%s: it is %+v", kind, found.Labels)
		}
		second := r.request(p, "second", reserved)
		if len(second.Choices) == 0 { // the planner knows already
			second.Choices = req.Choices
		}
		var short *cloud.InsufficientCapacityError
		if _, err = p.Launch(t.Context(), second); !errors.As(err, &short) {
			t.Errorf("%s: into a full one: %v", kind, err)
		}
		r.must(p.Terminate(t.Context(), first.ProviderID))
		r.clock.Step(shutdown + time.Hour) // what was sold out is asked for again
		r.again(p, reserving)
		if _, err := p.Launch(t.Context(), r.request(p, "third", reserved)); err != nil {
			t.Errorf("%s: into one that has room again: %v", kind, err)
		}
	}
}

func TestAMachineOfAReservationThatCanBeInterruptedSaysSo(t *testing.T) {
	r := newRig(t)
	r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", Interruptible: true, Total: 1, Tags: ml})
	p := r.provider()
	r.resolved(p, reserving)
	i, err := p.Launch(t.Context(), r.request(p, "claim", reserved))
	r.must(err)
	r.clock.Step(boot)
	found, err := r.provider().Get(t.Context(), i.ProviderID)
	r.must(err)
	for _, labels := range []map[string]string{i.Labels, found.Labels} {
		if labels[ec2class.LabelCapacityReservationInterruptible] != "true" || labels[ec2class.LabelCapacityReservationID] != "cr-1" {
			t.Errorf("its labels are %v", labels)
		}
	}
	id, err := idOf(i.ProviderID)
	r.must(err)
	if _, err = r.cloud.EC2.Reclaim(id, time.Minute); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute + shutdown)
	if _, err := p.Get(t.Context(), i.ProviderID); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("taken back, it is there: %v", err)
	}
}

func TestAReservationThatIsFullGivesWayToOnDemand(t *testing.T) {
	r := newRig(t)
	r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", Total: 1, Tags: ml})
	p := r.provider()
	r.resolved(p, reserving)
	either := func(c catalog.Choice) bool { return reserved(c) || onDemand(c) }
	req := r.request(p, "first", either)
	for n, want := range []string{catalog.Reserved, catalog.OnDemand} {
		req.Token, req.Claim = fmt.Sprint("uid-", n), fmt.Sprint("claim-", n)
		i, err := p.Launch(t.Context(), req)
		r.must(err)
		if i.CapacityType != want {
			t.Errorf("machine %d is %s", n, i.CapacityType)
		}
	}
}

func TestTheStatusOfAClassHasItsReservationsAndAMachineOfAnotherDrifts(t *testing.T) {
	r := newRig(t)
	r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", Total: 1, Tags: ml})
	p := r.provider()
	var status []ec2class.CapacityReservation
	r.resolved(p, reserving)
	i, err := p.Launch(t.Context(), r.request(p, "claim", reserved))
	r.must(err)
	r.clock.Step(boot)
	_, err = p.List(t.Context())
	r.must(err)
	drifted := func() string {
		r.clock.Step(2 * time.Minute)
		_, err := p.List(t.Context())
		r.must(err)
		reason, err := p.Drifted(t.Context(), i.ProviderID)
		r.must(err)
		return reason
	}
	r.again(p, func(c *awsv1.EC2NodeClass) { reserving(c); status = c.Status.CapacityReservations })
	if got := drifted(); got != "" || len(status) != 1 || status[0].ID != "cr-1" {
		t.Errorf("drifted by %q, status %+v", got, status)
	}
	r.again(p, func(c *awsv1.EC2NodeClass) {
		reserving(c)
		c.Spec.CapacityReservationSelectorTerms[0].Tags = map[string]string{"team": "other"}
	})
	if got := drifted(); !strings.Contains(got, "Drift") {
		t.Errorf("of another class's reservation, drifted by %q", got)
	}
	r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", Total: 1, Tags: ml, End: r.clock.Now()})
	r.again(p, reserving)
	if list := r.request(p, "late", reserved).Choices; len(list) > 0 {
		t.Errorf("of a reservation that has ended there are %+v", list)
	}
}

// grouped makes the class launch into a placement group.
func grouped(name string) func(*awsv1.EC2NodeClass) {
	return func(c *awsv1.EC2NodeClass) {
		discovering(c)
		c.Spec.PlacementGroupSelector = &ec2class.PlacementGroupSelector{Name: &name}
	}
}

func TestAClusterGroupStaysInOneZone(t *testing.T) {
	r := newRig(t)
	r.cloud.EC2.Reserved.AddGroup(reserve.Group{GroupId: "pg-1", GroupName: "near", Strategy: "cluster"})
	p := r.provider()
	r.resolved(p, grouped("near"))
	first, err := p.Launch(t.Context(), r.request(p, "first", onDemand))
	r.must(err)
	elsewhere := func(c catalog.Choice) bool { return onDemand(c) && c.Offering.Zone != first.Zone }
	var short *cloud.InsufficientCapacityError
	if _, err := p.Launch(t.Context(), r.request(p, "second", elsewhere)); !errors.As(err, &short) {
		t.Errorf("in another zone: %v", err)
	}
	if i, err := p.Launch(t.Context(), r.request(p, "third", onDemand)); err != nil || i.Zone != first.Zone {
		t.Errorf("in any zone: %s, %v", i.Zone, err)
	}
}

func TestASpreadGroupHasSevenMachinesInAZone(t *testing.T) {
	r := newRig(t)
	r.cloud.EC2.Reserved.AddGroup(reserve.Group{GroupId: "pg-1", GroupName: "far", Strategy: "spread"})
	p := r.provider()
	r.resolved(p, grouped("far"))
	one := func(c catalog.Choice) bool { return onDemand(c) && c.Offering.Zone == "us-east-1a" }
	var last cloud.Instance
	for n := range 7 {
		var err error
		last, err = p.Launch(t.Context(), r.request(p, fmt.Sprint("claim-", n), one))
		r.must(err)
	}
	req := r.request(p, "eighth", one)
	req.Choices = append(req.Choices, r.request(p, "eighth", onDemand).Choices...)
	if i, err := p.Launch(t.Context(), req); err != nil || i.Zone == "us-east-1a" {
		t.Errorf("the eighth is in %s, %v", i.Zone, err)
	}
	if list := r.request(p, "ninth", one).Choices; len(list) > 0 {
		t.Errorf("the group is full, and there are %+v", list)
	}
	r.must(p.Terminate(t.Context(), last.ProviderID))
	r.clock.Step(shutdown)
	if err := p.Terminate(t.Context(), last.ProviderID); !errors.Is(err, cloud.ErrNotFound) {
		t.Fatalf("once it has ended: %v", err)
	}
	if i, err := p.Launch(t.Context(), r.request(p, "ninth", one)); err != nil || i.Zone != "us-east-1a" {
		t.Errorf("once one has ended: %s, %v", i.Zone, err)
	}
}

// Other classes have the same types in the same zone.
func TestAPlacementGroupWithoutRoomRulesOutNothingOutsideIt(t *testing.T) {
	for name, fault := range map[string]func(http.ResponseWriter, func(http.ResponseWriter)){
		"of the whole call": fails(http.StatusBadRequest, "InsufficientInstanceCapacity", "none"),
		"of the offering":   nil,
	} {
		r := newRig(t)
		r.cloud.EC2.Reserved.AddGroup(reserve.Group{GroupId: "pg-1", GroupName: "far", Strategy: "spread"})
		p := r.provider()
		r.resolved(p, grouped("far"))
		req := r.request(p, "claim", func(c catalog.Choice) bool { return onDemand(c) && c.Offering.Zone == "us-east-1a" })
		var err error
		if fault != nil {
			r.next("CreateFleet", 1, fault)
		}
		for n := 0; n < 8 && err == nil; n++ {
			req.Token, req.Claim = fmt.Sprint("uid-", n), fmt.Sprint("claim-", n)
			_, err = p.Launch(t.Context(), req)
		}
		var short *cloud.InsufficientCapacityError
		if !errors.As(err, &short) || len(short.Offerings) > 0 || short.Cause == "" {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// EC2 chooses the partition, and tells it when it shows the machine.
func TestALaunchWaitsForThePartitionOfItsMachine(t *testing.T) {
	r := newRig(t)
	r.cloud.EC2.SetDelays(ec2test.Delays{Boot: boot, Shutdown: shutdown, Lag: 2 * lookAgain})
	r.cloud.EC2.Reserved.AddGroup(reserve.Group{GroupId: "pg-1", GroupName: "parts", Strategy: "partition", PartitionCount: 3})
	p := r.provider()
	r.resolved(p, grouped("parts"))
	req := r.request(p, "claim", onDemand)
	var wait *cloud.ThrottledError
	for range 2 {
		if _, err := p.Launch(t.Context(), req); !errors.As(err, &wait) || wait.RetryAfter != lookAgain {
			t.Fatalf("answered %v", err)
		}
		r.clock.Step(lookAgain)
	}
	if i, err := p.Launch(t.Context(), req); err != nil || i.Labels[ec2class.LabelPlacementGroupPartition] == "" || r.machines() != 1 {
		t.Errorf("launched %+v, error %v, %d machines", i.Labels, err, r.machines())
	}
}

func TestAMachineIsInThePartitionThatItsLabelSays(t *testing.T) {
	r := newRig(t)
	r.cloud.EC2.Reserved.AddGroup(reserve.Group{GroupId: "pg-1", GroupName: "parts", Strategy: "partition", PartitionCount: 3})
	p := r.provider()
	r.resolved(p, grouped("parts"))
	for n, partition := range []string{"2", "2", ""} {
		req := r.request(p, fmt.Sprint("claim-", n), onDemand)
		req.Labels[ec2class.LabelPlacementGroupPartition] = partition
		i, err := p.Launch(t.Context(), req)
		r.must(err)
		r.clock.Step(boot)
		id, err := idOf(i.ProviderID)
		r.must(err)
		seen, err := p.AWS.Instance(t.Context(), id)
		r.must(err)
		if got := fmt.Sprint(seen.Partition); partition != "" && got != partition || partition == "" && (got == "2" || got == "0") || seen.Group != "pg-1" {
			t.Errorf("with label %q it is in partition %s of group %s", partition, got, seen.Group)
		}
		found, err := p.Get(t.Context(), i.ProviderID)
		r.must(err)
		for _, labels := range []map[string]string{i.Labels, found.Labels} {
			if got := labels[ec2class.LabelPlacementGroupPartition]; got != fmt.Sprint(seen.Partition) {
				t.Errorf("it is labelled as in partition %q, and in %d", got, seen.Partition)
			}
		}
	}
	r.again(p, func(c *awsv1.EC2NodeClass) { discovering(c); c.Spec.PlacementGroupSelector = nil })
}

// EC2 takes the machines of a capacity block back from half an hour before its end, those of UltraServers
// from an hour.
func TestMachinesOfACapacityBlockAreToldToGoBeforeItEnds(t *testing.T) {
	for _, tt := range []struct {
		kind, typ string
		want      int
		reclaimed time.Duration // before the end
	}{
		{"capacity-block", "m5.large", 1, 30 * time.Minute},
		{"capacity-block", "trn2u.48xlarge", 1, time.Hour},
		{"default", "m5.large", 0, 30 * time.Minute},
	} {
		kind, want := tt.kind, tt.want
		r := newRig(t, "m5.large", "trn2u.48xlarge=trn1.32xlarge")
		end := r.clock.Now().Add(3 * time.Hour)
		r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: tt.typ, Zone: "us-east-1b", ReservationType: kind, Total: 2, Tags: ml, End: end})
		p := r.provider()
		r.resolved(p, reserving)
		i, err := p.Launch(t.Context(), r.request(p, "claim", reserved))
		r.must(err)
		_, err = p.List(t.Context())
		r.must(err)
		events := func() []cloud.Event {
			out, err := p.Events(t.Context())
			r.must(err)
			return out
		}
		r.clock.SetTime(end.Add(-tt.reclaimed - 10*time.Minute - time.Second))
		if got := events(); len(got) > 0 {
			t.Errorf("%s: too early there is %+v", kind, got)
		}
		r.clock.Step(time.Second)
		if got, more := events(), r.request(p, "next", reserved).Choices; len(got) > 0 && len(more) > 0 {
			t.Errorf("%s: it is told to go, and what replaces it may be launched into the block: %+v", kind, more)
		}
		r.resolved(p, reserving)
		got := events()
		if len(got) != want {
			t.Fatalf("%s: announced %+v", kind, got)
		}
		if more := r.request(p, "next", reserved).Choices; want > 0 && len(more) > 0 {
			t.Errorf("%s: still offered is %+v", kind, more)
		}
		for _, e := range got {
			if e.Kind != interruption.Reservation || e.Machine != i.ProviderID || !e.NotBefore.Equal(end.Add(-tt.reclaimed)) || !e.Confirmed || e.Check() != nil {
				t.Errorf("announced %+v: %v", e, e.Check())
			}
		}
	}
}

// A machine stays when its reservation ends or is cancelled, and is paid for from then on.
func TestAMachineOutlivesItsReservation(t *testing.T) {
	for how, end := range map[string]func(r *rig, at time.Time) error{
		"ends":         func(r *rig, at time.Time) error { r.clock.SetTime(at); return nil },
		"is cancelled": func(r *rig, _ time.Time) error { return r.cloud.EC2.Remove("cr-1") },
	} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			at := r.clock.Now().Add(time.Hour)
			r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", Total: 1, Tags: ml, End: at})
			p := r.provider()
			r.resolved(p, reserving)
			_, err := p.Launch(t.Context(), r.request(p, "claim", reserved))
			r.must(err)
			for _, want := range []string{catalog.Reserved, catalog.OnDemand} {
				list, err := p.List(t.Context())
				r.must(err)
				if len(list) != 1 || list[0].CapacityType != want || list[0].Labels["karpenter.sh/capacity-type"] != want {
					t.Errorf("listed %+v, want %s", list, want)
				}
				for _, key := range p.ReservationLabels() {
					if (list[0].Labels[key] != "") != (want == catalog.Reserved) {
						t.Errorf("a machine that is %s has %s=%q", want, key, list[0].Labels[key])
					}
				}
				if want == catalog.Reserved {
					r.must(end(r, at))
				}
			}
		})
	}
}

// A class is as ready as the process before has left it.
func TestNothingIsLaunchedBesideAReservationWhoseRoomIsNotKnownYet(t *testing.T) {
	r := newRig(t)
	r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", Total: 1, Tags: ml})
	r.resolved(r.provider(), reserving)
	p := r.provider()
	var notReady *cloud.ClassNotReadyError
	if _, err := p.InstanceTypes(t.Context(), classRef); !errors.As(err, &notReady) || !notReady.Pending || !strings.Contains(notReady.Reason, "capacity reservation cr-1") {
		t.Errorf("a process that has just started answers %v", err)
	}
	r.again(p, reserving)
	if list := r.request(p, "claim", reserved).Choices; len(list) != 1 || list[0].Offering.Left != 1 {
		t.Errorf("once EC2 has told, the choices are %+v", list)
	}
}

// EC2 is asked once a minute how much room reservations have; launches and ends count at once.
func TestTheRoomOfAReservationIsKnownBetweenTwoQuestions(t *testing.T) {
	r := newRig(t)
	r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", Total: 2, Tags: ml})
	p := r.provider()
	r.resolved(p, reserving)
	room := func() int {
		for _, c := range r.request(p, "claim", reserved).Choices {
			return c.Offering.Left
		}
		return 0
	}
	first, err := p.Launch(t.Context(), r.request(p, "first", reserved))
	r.must(err)
	r.clock.Step(boot)
	if got := room(); got != 1 {
		t.Errorf("after a launch there is room for %d", got)
	}
	_, err = p.Launch(t.Context(), r.request(p, "second", reserved))
	r.must(err)
	if got := room(); got != 0 {
		t.Errorf("after another launch there is room for %d", got)
	}
	r.must(p.Terminate(t.Context(), first.ProviderID))
	if got := room(); got != 0 {
		t.Errorf("while a machine ends there is room for %d", got)
	}
	r.clock.Step(shutdown)
	if err := p.Terminate(t.Context(), first.ProviderID); !errors.Is(err, cloud.ErrNotFound) {
		t.Fatalf("it has not ended: %v", err)
	}
	if got := room(); got != 1 {
		t.Errorf("after a machine has ended there is room for %d", got)
	}
}

// What another cluster leaves of a reservation can be had as soon as EC2 says so.
func TestAReservationThatWasFullIsAskedForOnceEC2SaysThatItHasRoom(t *testing.T) {
	r := newRig(t)
	has := func(n int) {
		r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", Total: n, Tags: ml})
	}
	has(1)
	p := r.provider()
	r.resolved(p, reserving)
	req := r.request(p, "claim", reserved)
	has(0)
	var short *cloud.InsufficientCapacityError
	if _, err := p.Launch(t.Context(), req); !errors.As(err, &short) || !strings.Contains(err.Error(), "capacity reservation cr-1 has no room") {
		t.Errorf("into a full one: %v", err)
	}
	if list := r.request(p, "claim", reserved).Choices; len(list) > 0 {
		t.Errorf("of a full one there are %+v", list)
	}
	has(1)
	r.again(p, reserving)
	if _, err := p.Launch(t.Context(), r.request(p, "claim", reserved)); err != nil {
		t.Errorf("into one that has room again: %v", err)
	}
}

func TestOnDemandMachinesRunInOpenReservationsWhereTheClassOrTheGateSaysSo(t *testing.T) {
	for _, row := range []struct {
		said string // by the class's annotation
		gate bool
		used int
	}{{"", false, 0}, {"", true, 1}, {"true", false, 1}, {"true", true, 1}, {"false", false, 0}, {"false", true, 0}} {
		r := newRig(t)
		r.cloud.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1b", InstanceMatchCriteria: "open", Total: 1})
		config := r.config(r.once())
		config.OpenReservations = row.gate
		p := New(config)
		r.must(p.Refresh(t.Context()))
		r.resolved(p, func(c *awsv1.EC2NodeClass) {
			if discovering(c); row.said != "" {
				c.Annotations = map[string]string{awsv1.OpenReservations: row.said}
			}
		})
		i, err := p.Launch(t.Context(), r.request(p, "claim", func(c catalog.Choice) bool {
			return onDemand(c) && c.Type.Name == "m5.large" && c.Offering.Zone == "us-east-1b"
		}))
		r.must(err)
		if used := r.cloud.EC2.Reserved.Used("cr-1"); used != row.used || i.CapacityType != catalog.OnDemand || i.Labels[ec2class.LabelCapacityReservationID] != "" {
			t.Errorf("%+v: %d in the reservation, launched %+v", row, used, i)
		}
	}
}

func TestAClassWhoseWordOnOpenReservationsIsUnknownIsNotReady(t *testing.T) {
	r := newRig(t)
	class := readyClass()
	discovering(class)
	class.Annotations = map[string]string{awsv1.OpenReservations: "yes"}
	_, err := r.provider().Resolve(t.Context(), class)
	r.must(err)
	said := ""
	for _, c := range class.Status.Conditions {
		said += told(c)
	}
	if want := `ValidationSucceeded InvalidSpec metadata.annotations[millwright.dev/open-reservations]: "yes" is neither true nor false`; !strings.Contains(said, want) {
		t.Errorf("said is %q, want %q", said, want)
	}
}
