package instancetype

import (
	"cmp"
	"slices"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// EBSDriver is the name of the EBS CSI driver, under which types list their attachment
// limits.
const EBSDriver = "ebs.csi.aws.com"

// Zone is an availability zone under both of its names: the account's, and EC2's own.
type Zone struct{ Name, ID string }

// Reservation is a capacity reservation that machines can come from.
type Reservation struct {
	ID, Type, Zone string
	// Kind is default or capacity-block.
	Kind string
	// Interruptible says that EC2 may take the capacity back.
	Interruptible bool
	// Left is how many machines it still has room for.
	Left int
}

// Reservations are those of a class's status that are not about to end, with what each has left.
func Reservations(listed []ec2class.CapacityReservation, left func(id string) int) []Reservation {
	var out []Reservation
	for _, r := range listed {
		if r.State == ec2class.CapacityReservationStateExpiring {
			continue
		}
		out = append(out, Reservation{
			ID: r.ID, Type: r.InstanceType, Zone: r.AvailabilityZone, Kind: string(r.ReservationType), Interruptible: r.Interruptible, Left: left(r.ID),
		})
	}
	return out
}

// Supply is where and at what price a type can be bought.
type Supply struct {
	// Zones are those in which EC2 sells the type and the class has a subnet.
	Zones []Zone
	// Price is in US dollars per hour; without one there is no offering.
	Price func(typeName, zone, capacityType string) (float64, bool)
	// SoldOut reports what EC2 has refused of late, and for want of what other than its capacity;
	// nil is nothing.
	SoldOut func(typeName string, o *catalog.Offering) (lacks string, out bool)
	// Reservations are those of the class, of any type.
	Reservations []Reservation
	// Image is what machines with these labels are started from, empty if there is no image
	// for them; nil if that is not known.
	Image func(requirement.Set) string
}

// Resolve is the type as the planner sees it; nil if the class refuses it, has no image for
// it, or it is sold nowhere. The class has passed Check.
func Resolve(i *Info, c *Class, s *Supply) *catalog.Type {
	if c.Refuses(i) != "" {
		return nil
	}
	offerings := s.offerings(i)
	if len(offerings) == 0 {
		return nil
	}
	t := Describe(i, c, offerings...)
	if s.Image != nil {
		if t.Image = s.Image(t.Requirements); t.Image == "" {
			return nil
		}
	}
	return t
}

// Describe is what a Node of the type is under the class, bought in one of these ways, whether
// it can be bought now or not.
func Describe(i *Info, c *Class, offerings ...catalog.Offering) *catalog.Type {
	c, _ = c.On(i)
	t := &catalog.Type{Name: i.Name, Capacity: c.capacity(i), Offerings: offerings, Devices: i.gpus(), Exotic: i.BareMetal || len(i.GPUs)+len(i.Neurons)+len(i.Inference) > 0, BareMetal: i.BareMetal}
	t.Overhead = c.overhead(i, t.Capacity)
	if c.Allocatable != nil {
		c.observe(t)
	}
	labels := values(c.labels(i))
	labels.offered(offerings)
	t.Requirements = labels.set()
	if i.Volumes > 0 {
		t.AttachLimits = map[string]int64{EBSDriver: i.Volumes}
	}
	return t
}

// Bought is how a machine was bought, without its price; the reservation has no ID unless it
// came from one.
func Bought(zone Zone, capacityType string, r Reservation) catalog.Offering {
	o := catalog.Offering{Zone: zone.Name, CapacityType: capacityType, Reservation: r.ID, Labels: map[string]string{}}
	if r.ID != "" {
		o.Labels = r.labels()
	}
	if zone.ID != "" {
		o.Labels[ec2class.LabelTopologyZoneID] = zone.ID
	}
	return o
}

func (s *Supply) offerings(i *Info) []catalog.Offering {
	var out []catalog.Offering
	add := func(zone Zone, capacityType string, price float64, r Reservation) {
		o := Bought(zone, capacityType, r)
		o.Price, o.Left = price, r.Left
		o.Available = r.ID == "" || r.Left > 0
		if s.SoldOut != nil {
			lacks, out := s.SoldOut(i.Name, &o)
			o.Lacks, o.Available = lacks, o.Available && !out
		}
		out = append(out, o)
	}
	for _, zone := range s.Zones {
		for _, usage := range []string{catalog.OnDemand, catalog.Spot} {
			price, known := s.Price(i.Name, zone.Name, usage)
			if i.sold(usage) && known {
				add(zone, usage, price, Reservation{})
			}
		}
		for _, r := range s.Reservations {
			if r.Type != i.Name || r.Zone != zone.Name {
				continue
			}
			price, _ := s.Price(i.Name, zone.Name, catalog.OnDemand)
			add(zone, catalog.Reserved, price*catalog.PaidFor, r)
		}
	}
	slices.SortFunc(out, func(a, b catalog.Offering) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.Reservation, b.Reservation))
	})
	return out
}

func (r *Reservation) labels() map[string]string {
	interruptible := "false"
	if r.Interruptible {
		interruptible = "true"
	}
	return map[string]string{
		ec2class.LabelCapacityReservationID: r.ID, ec2class.LabelCapacityReservationType: cmp.Or(r.Kind, "default"),
		ec2class.LabelCapacityReservationInterruptible: interruptible,
	}
}

// offered adds what the offerings say of zones, capacity types and their own labels.
func (v values) offered(offerings []catalog.Offering) {
	add := func(key, value string) {
		if !slices.Contains(v[key], value) {
			v[key] = append(v[key], value)
		}
	}
	for _, o := range offerings {
		add(corev1.LabelTopologyZone, o.Zone)
		add(catalog.CapacityTypeLabel, o.CapacityType)
		for key, value := range o.Labels {
			add(key, value)
		}
	}
}
