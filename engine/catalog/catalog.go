package catalog

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/requirement"
)

// Type is one kind of machine.
type Type struct {
	// Name is the value of the node.kubernetes.io/instance-type label.
	Name string
	// Requirements holds one requirement per label that a node of this type can
	// carry: In with the possible values, or DoesNotExist for a well-known label
	// that it never has. Zone and capacity type list all offerings' values.
	Requirements requirement.Set
	// Capacity is the size of the machine, in Kubernetes' units.
	Capacity corev1.ResourceList
	// AddedBy names the overlay of each resource of Capacity that is one's.
	AddedBy map[corev1.ResourceName]string
	// Overhead is what the kubelet and the system keep for themselves.
	Overhead corev1.ResourceList
	// Offerings are the ways to buy it, in a fixed order. Prices of a type may
	// differ between them.
	Offerings []Offering
	// AttachLimits is the number of volumes per CSI driver that a node of this
	// type takes; a driver that is missing has no known limit.
	AttachLimits map[string]int64
	// Devices are those that drivers of dynamic resource allocation are known to offer on a node
	// of this type. Drivers is whose they are that a resource of Capacity counts, and AsDevices are
	// the extended resources of Capacity that the cloud does not know, but devices are.
	Devices   []Device
	Drivers   map[corev1.ResourceName][]string
	AsDevices []corev1.ResourceName
	// Image is what a machine of this type would be started from now, as the claim's
	// status names it afterwards; empty if the cloud does not tell beforehand.
	Image string
	// Exotic marks bare metal and machines with accelerators: hardware that only those
	// should get who need it, in Karpenter's word. BareMetal are those of them that take long
	// to start, and come after accelerators.
	Exotic, BareMetal bool
}

// Offering is one way to buy a type: in a zone, under a capacity type.
type Offering struct {
	Zone string
	// CapacityType is spot, on-demand or reserved.
	CapacityType string
	// Price is in US dollars per hour, above zero.
	Price float64
	// PricedBy names the overlay whose price it is, which the cloud does not know; empty if the
	// price is the cloud's.
	PricedBy string
	// Available is false when the cloud does not sell it at present.
	Available bool
	// Lacks is what keeps it from being available other than the cloud's capacity, for people:
	// a quota of the account, the addresses of a zone's subnets. Empty if nothing does.
	Lacks string
	// Labels are further labels that a node bought this way carries, such as a
	// reservation's id. Usually empty.
	Labels map[string]string
	// Reservation names the capacity reservation that the machine would come from,
	// empty for an offering that is not reserved. Types, zones and pools may draw on
	// one reservation.
	Reservation string
	// Left is how many machines the reservation still has room for, those that run
	// already taken off. Without a reservation it says nothing.
	Left int
}

// PaidFor is the share of its price that capacity counts with which is paid for already. It is
// the first choice then, and among several the cheaper type, as Karpenter has it of reservations.
// Plans need prices above zero.
const PaidFor = 1e-7

// Key names an offering across snapshots.
type Key struct {
	Type, Zone, CapacityType string
}

// Key is the offering's name within its type.
func (o Offering) Key(typeName string) Key { return Key{typeName, o.Zone, o.CapacityType} }

// Requirements are the labels that a node bought this way carries.
func (o Offering) Requirements() requirement.Set {
	s := requirement.NewSet(
		requirement.Must(corev1.LabelTopologyZone, requirement.In, o.Zone),
		requirement.Must(CapacityTypeLabel, requirement.In, o.CapacityType),
	)
	if len(o.Labels) > 0 {
		s = s.And(requirement.FromLabels(o.Labels))
	}
	return s
}

// CapacityTypeLabel is Karpenter's label for how a machine was bought.
const CapacityTypeLabel = "karpenter.sh/capacity-type"

// Capacity types, in Karpenter's words.
const (
	Spot     = "spot"
	OnDemand = "on-demand"
	Reserved = "reserved"
)

// Allocatable is what pods can request: capacity less overhead, and memory less
// huge pages, never below zero. The result is the caller's.
func (t *Type) Allocatable() corev1.ResourceList {
	out := make(corev1.ResourceList, len(t.Capacity))
	for name, q := range t.Capacity {
		left := q.DeepCopy()
		if o, ok := t.Overhead[name]; ok {
			left.Sub(o)
		}
		if name == corev1.ResourceMemory {
			left.Sub(t.HugePages())
		}
		if left.Sign() < 0 {
			left = resource.Quantity{Format: left.Format}
		}
		out[name] = left
	}
	return out
}

// HugePages is the memory that is set aside for huge pages of every size, and that
// cannot be requested as memory.
func (t *Type) HugePages() resource.Quantity {
	var sum resource.Quantity
	for name, q := range t.Capacity {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			sum.Add(q)
		}
	}
	return sum
}

// Offering finds the offering in a zone under a capacity type.
func (t *Type) Offering(zone, capacityType string) (Offering, bool) {
	i := slices.IndexFunc(t.Offerings, func(o Offering) bool { return o.Zone == zone && o.CapacityType == capacityType })
	if i < 0 {
		return Offering{}, false
	}
	return t.Offerings[i], true
}
