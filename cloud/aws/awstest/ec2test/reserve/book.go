package reserve

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/tagging"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// World is what the rules need to know of EC2.
type World struct {
	Now             func() time.Time
	Account, Region string
	// ZoneID is the ID of a zone by its name.
	ZoneID func(zone string) string
	// Members are the machines of a group, Used how many there are of a reservation; what is
	// stopped or gone does not count.
	Members func(group string) []Member
	Used    func(reservation string) int
}

// Book has the placement groups and capacity reservations. It is safe for concurrent use.
type Book struct {
	World
	mu           sync.Mutex
	groups       []Group
	reservations []Reservation
}

// AddGroup makes a placement group.
func (b *Book) AddGroup(g Group) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g.State = cmp.Or(g.State, "available")
	b.groups = append(b.groups, g)
}

// Reserve makes a capacity reservation, or changes the one of its ID.
func (b *Book) Reserve(r Reservation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.ReservationType, r.InstanceMatchCriteria = cmp.Or(r.ReservationType, "default"), cmp.Or(r.InstanceMatchCriteria, "targeted")
	b.reservations = slices.DeleteFunc(b.reservations, func(old Reservation) bool { return old.ID == r.ID })
	b.reservations = append(b.reservations, r)
}

// Remove deletes a placement group that has no machines, or a capacity reservation, by its ID.
func (b *Book) Remove(id string) error {
	g, err := b.Group(id, "")
	_, reserved := b.Find(id)
	switch {
	case err != nil && !reserved:
		return err
	case err == nil && len(b.Members(id)) > 0:
		return wire.Errorf("InvalidPlacementGroup.InUse", "The placement group %s is in use and may not be deleted.", g.GroupName)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.groups = slices.DeleteFunc(b.groups, func(g Group) bool { return g.GroupId == id })
	b.reservations = slices.DeleteFunc(b.reservations, func(r Reservation) bool { return r.ID == id })
	return nil
}

// Find is a reservation by its ID.
func (b *Book) Find(id string) (Reservation, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.reservations, func(r Reservation) bool { return r.ID == id })
	if i < 0 {
		return Reservation{}, false
	}
	return b.reservations[i], true
}

// Group is a placement group by its ID, or else by its name.
func (b *Book) Group(id, name string) (Group, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.groups {
		if g.GroupId == id || id == "" && g.GroupName == name {
			return g, nil
		}
	}
	return Group{}, wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", cmp.Or(id, name))
}

// Join is the group that a machine comes into and its partition, zero for none.
func (b *Book) Join(id, name, zone string, partition *int) (Group, int, error) {
	g, err := b.Group(id, name)
	if err != nil {
		return g, 0, err
	}
	n, err := g.Join(b.Members(g.GroupId), zone, partition)
	return g, n, err
}

// Reservation is the one that a machine comes into, by its ID: the one that it names, or an
// open one that it finds its way into; empty for none.
func (b *Book) Reservation(named string, open bool, w Want) (string, error) {
	if named != "" {
		r, ok := b.Find(named)
		if !ok {
			return "", unknown(named)
		}
		return named, r.Refuse(w, b.Used(named), b.Now())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := range b.reservations {
		if r := &b.reservations[n]; open && r.Takes(w, b.Used(r.ID), b.Now()) {
			return r.ID, nil
		}
	}
	return "", nil
}

func unknown(id string) error {
	return wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
}

type describedReservation struct {
	CapacityReservationId, InstanceType, AvailabilityZone, AvailabilityZoneId string
	OwnerId, InstanceMatchCriteria, ReservationType, State                    string
	Interruptible                                                             bool
	TotalInstanceCount, AvailableInstanceCount                                int
	EndDateType                                                               string
	EndDate                                                                   *time.Time
	Tags                                                                      []tagging.Tag
}

var reservationFields = describe.Fields[describedReservation]{
	"state":                   describe.One(func(r describedReservation) string { return r.State }),
	"owner-id":                describe.One(func(r describedReservation) string { return r.OwnerId }),
	"instance-type":           describe.One(func(r describedReservation) string { return r.InstanceType }),
	"availability-zone":       describe.One(func(r describedReservation) string { return r.AvailabilityZone }),
	"instance-match-criteria": describe.One(func(r describedReservation) string { return r.InstanceMatchCriteria }),
}

func (b *Book) described(r *Reservation) describedReservation {
	out := describedReservation{
		CapacityReservationId: r.ID, InstanceType: r.Type, AvailabilityZone: r.Zone, AvailabilityZoneId: b.ZoneID(r.Zone), OwnerId: b.Account,
		InstanceMatchCriteria: r.InstanceMatchCriteria, ReservationType: r.ReservationType, Interruptible: r.Interruptible, State: "active",
		TotalInstanceCount: r.Total, AvailableInstanceCount: max(0, r.Total-b.Used(r.ID)), EndDateType: "unlimited", Tags: tagging.Of(r.Tags),
	}
	if !r.End.IsZero() {
		out.EndDateType, out.EndDate = "limited", &r.End
	}
	if !r.Active(b.Now()) {
		out.State, out.AvailableInstanceCount = "expired", 0
	}
	return out
}

// ReservationsQuery is that of DescribeCapacityReservations.
type ReservationsQuery struct {
	describe.Query
	CapacityReservationIds []string
}

// Reservations answers it.
func (b *Book) Reservations(in ReservationsQuery) (any, error) {
	b.mu.Lock()
	list := slices.Clone(b.reservations)
	b.mu.Unlock()
	var out struct {
		CapacityReservations []describedReservation
		NextToken            string
	}
	for _, id := range in.CapacityReservationIds {
		if !slices.ContainsFunc(list, func(r Reservation) bool { return r.ID == id }) {
			return nil, unknown(id)
		}
	}
	slices.SortFunc(list, func(x, y Reservation) int { return cmp.Compare(x.ID, y.ID) })
	for n := range list {
		r := &list[n]
		d := b.described(r)
		ok, err := describe.Pass(in.Filters, reservationFields, r.Tags, d)
		if err != nil {
			return nil, err
		}
		if ok && (len(in.CapacityReservationIds) == 0 || slices.Contains(in.CapacityReservationIds, r.ID)) {
			out.CapacityReservations = append(out.CapacityReservations, d)
		}
	}
	var err error
	out.CapacityReservations, out.NextToken, err = describe.Page(out.CapacityReservations, func(r describedReservation) string { return r.CapacityReservationId }, in.MaxResults, 1, 1000, in.NextToken)
	return out, err
}

var groupFields = describe.Fields[Group]{
	"state":      describe.One(func(g Group) string { return g.State }),
	"strategy":   describe.One(func(g Group) string { return g.Strategy }),
	"group-name": describe.One(func(g Group) string { return g.GroupName }),
}

// GroupsQuery is that of DescribePlacementGroups.
type GroupsQuery struct {
	describe.Query
	GroupIds, GroupNames []string
}

// Groups answers it.
func (b *Book) Groups(in GroupsQuery) (any, error) {
	type described struct {
		GroupId, GroupName, GroupArn, Strategy, State string
		PartitionCount                                *int
	}
	var out struct{ PlacementGroups []described }
	b.mu.Lock()
	list := slices.Clone(b.groups)
	b.mu.Unlock()
	if len(in.GroupIds)+len(in.GroupNames) > 0 {
		list = nil
	}
	for _, asked := range []struct {
		names []string
		find  func(string) (Group, error)
	}{
		{in.GroupIds, func(id string) (Group, error) { return b.Group(id, "") }},
		{in.GroupNames, func(name string) (Group, error) { return b.Group("", name) }},
	} {
		for _, name := range asked.names {
			g, err := asked.find(name)
			if err != nil {
				return nil, err
			}
			list = append(list, g)
		}
	}
	for _, g := range list {
		ok, err := describe.Pass(in.Filters, groupFields, nil, g)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		d := described{g.GroupId, g.GroupName, fmt.Sprintf("arn:aws:ec2:%s:%s:placement-group/%s", b.Region, b.Account, g.GroupName), g.Strategy, g.State, nil}
		if g.Strategy == Partition {
			d.PartitionCount = &g.PartitionCount
		}
		out.PlacementGroups = append(out.PlacementGroups, d)
	}
	return out, nil
}
