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

// A zone is full once none of its subnets has an address left.
func TestAClassSaysWhichOfItsZonesAreFull(t *testing.T) {
	var a Addresses
	class := &ec2class.EC2NodeClass{}
	class.Status.Subnets = Status(subnets)
	for _, tt := range []struct {
		one, two, three int64
		want            string
	}{{1, 0, 5, "[]"}, {0, 0, 5, "[a]"}, {0, 0, 0, "[a b]"}, {0, 3, 0, "[b]"}, {2, 3, 4, "[]"}} {
		a.Seen([]Subnet{{ID: "subnet-1", Free: tt.one}, {ID: "subnet-2", Free: tt.two}, {ID: "subnet-3", Free: tt.three}})
		a.Mark(class)
		if got := fmt.Sprint(Marked(class.Annotations)); got != tt.want {
			t.Errorf("of %+v full is %s", tt, got)
		}
	}
}
