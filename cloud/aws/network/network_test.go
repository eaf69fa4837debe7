package network

import (
	"fmt"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
)

var subnets = []Subnet{
	{ID: "subnet-1", Zone: "a", ZoneID: "az1", Free: 100}, {ID: "subnet-2", Zone: "a", ZoneID: "az1", Free: 90},
	{ID: "subnet-3", Zone: "b", ZoneID: "az2", Free: 10}, {ID: "subnet-1", Zone: "a", ZoneID: "az1", Free: 100},
}

func TestTheStatusListsEachSubnetOnceFreestFirst(t *testing.T) {
	want := "[{subnet-1 a az1} {subnet-2 a az1} {subnet-3 b az2}]"
	if got := fmt.Sprint(Status(subnets)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLaunchesInFlightTakeTheirAddressesAtOnce(t *testing.T) {
	var a Addresses
	a.Seen(subnets)
	status := Status(subnets)
	choose := func(want string) func(string) {
		t.Helper()
		got, done := a.Choose(status, []string{"a", "b"}, 29)
		if fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
		return done
	}
	first := choose("map[a:subnet-1 b:subnet-3]")
	second := choose("map[a:subnet-2 b:subnet-3]")
	first("subnet-1")
	second("") // nothing was launched
	choose("map[a:subnet-2 b:subnet-3]")("subnet-2")
	a.Full("subnet-1")
	choose("map[a:subnet-2 b:subnet-3]")("subnet-3")
	a.Seen(subnets)
	choose("map[a:subnet-1 b:subnet-3]")("")
}

func TestAZoneWithoutASubnetHasNone(t *testing.T) {
	var a Addresses
	got, done := a.Choose([]ec2class.Subnet{{ID: "subnet-2", Zone: "a"}, {ID: "subnet-1", Zone: "a"}}, []string{"a", "c"}, 1)
	if fmt.Sprint(got) != "map[a:subnet-1]" {
		t.Errorf("got %v", got)
	}
	done("")
}
