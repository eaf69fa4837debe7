// Package reserve has EC2's rules for what may be launched into placement groups and capacity
// reservations.
//
//	cluster     all machines of a group in one zone
//	spread      at most seven running machines in a zone
//	partition   a partition from 1 to the group's count; without one EC2 takes the emptiest
//	reservation its type and zone, as many machines as it has room for, until it ends; a
//	            capacity block, and one that EC2 may take back, for launches of that market only
//
// Codes and messages are EC2's where its documentation has them. That a cluster group's other
// zones are short of capacity, rather than refused in another way, is an assumption.
package reserve

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Partition is the strategy of groups with partitions.
const Partition = "partition"

// Strategies are those of placement groups.
func Strategies() []string { return []string{"cluster", Partition, "spread"} }

// Group is a placement group. Its State is available if empty.
type Group struct {
	GroupId, GroupName, Strategy, State string
	PartitionCount                      int
}

// Member is a machine of a group. One that is stopped or gone is none.
type Member struct {
	Zone      string
	Partition int
}

// mostSpread is how many machines of a spread group a zone has.
const mostSpread = 7

// Join says into which partition a machine comes, zero if the group has none, or why it cannot
// come into the group.
func (g *Group) Join(members []Member, zone string, partition *int) (int, error) {
	in := func(ok func(Member) bool) (n int) {
		for _, m := range members {
			if ok(m) {
				n++
			}
		}
		return n
	}
	here := func(m Member) bool { return m.Zone == zone }
	switch {
	case g.Strategy != Partition && partition != nil:
		return 0, wire.Errorf("InvalidParameterCombination", "The partition number can only be specified for placement groups with the 'partition' strategy.")
	case g.Strategy == "cluster" && in(here) < len(members):
		return 0, wire.Errorf("InsufficientInstanceCapacity", "The cluster placement group %s is in another Availability Zone than %s.", g.GroupName, zone)
	case g.Strategy == "spread" && in(here) >= mostSpread:
		return 0, wire.Errorf("InsufficientInstanceCapacity", "You've reached the limit of instances in this spread placement group.")
	case g.Strategy != Partition:
		return 0, nil
	case partition != nil && (*partition < 1 || *partition > g.PartitionCount):
		return 0, wire.Errorf("InvalidParameterValue", "The partition number %d is not one of the %d of placement group %s.", *partition, g.PartitionCount, g.GroupName)
	case partition != nil:
		return *partition, nil
	}
	loads := make([]int, g.PartitionCount)
	for i := range loads {
		loads[i] = in(func(m Member) bool { return m.Partition == i+1 })
	}
	return slices.Index(loads, slices.Min(loads)) + 1, nil
}

// Reservation is a capacity reservation. ReservationType is default, or capacity-block;
// InstanceMatchCriteria targeted, or open. End zero is never.
type Reservation struct {
	ID, Type, Zone                         string
	ReservationType, InstanceMatchCriteria string
	// Interruptible says that EC2 may take the capacity back.
	Interruptible bool
	Total         int
	End           time.Time
	Tags          map[string]string
}

// Active reports whether the reservation has not ended.
func (r *Reservation) Active(now time.Time) bool { return r.End.IsZero() || now.Before(r.End) }

// Block is the type of capacity blocks, and the market of launches into them.
const Block = "capacity-block"

// Interruptible is the market of launches into reservations that EC2 may take back.
const Interruptible = "interruptible-capacity-reservation"

// Market is that of the launches that the reservation takes, empty for the usual; EC2 calls the
// lifecycle of their instances so.
func (r *Reservation) Market() string {
	switch {
	case r.IsBlock():
		return Block
	case r.Interruptible:
		return Interruptible
	}
	return ""
}

// IsBlock reports whether it is a capacity block.
func (r *Reservation) IsBlock() bool { return r.ReservationType == Block }

// Spec is what a launch says of reservations.
type Spec struct {
	CapacityReservationPreference string
	CapacityReservationTarget     struct{ CapacityReservationId string }
}

// Want is what a reservation has to match of a launch.
type Want struct{ Type, Zone, Market string }

// Refuse says why a machine cannot be launched into the reservation on purpose, nil if it can;
// used is how many there are.
func (r *Reservation) Refuse(w Want, used int, now time.Time) error {
	switch {
	case !r.Active(now):
		return wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", r.ID)
	case r.Type != w.Type:
		return wire.Errorf("InvalidParameterValue", "The instance type %s does not match that of the capacity reservation, %s.", w.Type, r.Type)
	case r.Zone != w.Zone:
		return wire.Errorf("InvalidParameterValue", "The Availability Zone %s does not match that of the capacity reservation, %s.", w.Zone, r.Zone)
	case r.Market() != w.Market:
		return wire.Errorf("InvalidParameterValue", "The market type (purchasing) option is not valid. Choose a different market type and try again")
	case used >= r.Total:
		return wire.Errorf("ReservationCapacityExceeded", "The requested capacity is more than the capacity reservation %s has.", r.ID)
	}
	return nil
}

// Takes reports whether a launch that names no reservation finds its way into this one.
func (r *Reservation) Takes(w Want, used int, now time.Time) bool {
	return r.InstanceMatchCriteria == "open" && r.Market() == "" && w.Market == "" && r.Refuse(w, used, now) == nil
}
