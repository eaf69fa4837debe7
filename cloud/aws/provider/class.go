package provider

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/image"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/network"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Kind is that of the provider's node classes; their group is [Group].
const (
	Kind  = "EC2NodeClass"
	Group = "karpenter.k8s.aws"
)

// read finds a class, whatever its state.
func (p *Provider) read(ctx context.Context, ref snapshot.ClassRef) (*awsv1.EC2NodeClass, error) {
	if ref.Group != Group || ref.Kind != Kind {
		return nil, notReady(ref, fmt.Sprintf("this cloud has no %s of group %s, only %s of %s", ref.Kind, ref.Group, Kind, Group))
	}
	class := &awsv1.EC2NodeClass{}
	err := p.Reader.Get(ctx, client.ObjectKey{Name: ref.Name}, class)
	if apierrors.IsNotFound(err) {
		return nil, notReady(ref, "it does not exist")
	}
	if err != nil {
		return nil, fmt.Errorf("reading EC2NodeClass %s: %w", ref.Name, err)
	}
	return class, nil
}

func notReady(ref snapshot.ClassRef, reason string) error {
	return &cloud.ClassNotReadyError{Class: ref.Kind + "/" + ref.Name, Reason: reason}
}

// notYet says of a class that what it lacks is being found out.
func notYet(ref snapshot.ClassRef, reason string) error {
	return &cloud.ClassNotReadyError{Class: ref.Kind + "/" + ref.Name, Reason: reason, Pending: true}
}

// class finds a class that machines can be described by: its status was worked out once. One
// that has turned bad since keeps its machines.
func (p *Provider) class(ctx context.Context, ref snapshot.ClassRef) (*awsv1.EC2NodeClass, error) {
	class, err := p.read(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := unready(class); err != nil {
		return nil, err
	}
	if p.Discover != nil {
		return nil, notReady(ref, "EKS did not tell of the cluster when this process started")
	}
	return class, nil
}

// unready says why nothing can be launched from a class, if nothing can.
func unready(class *awsv1.EC2NodeClass) error {
	ref := refOf(class)
	if class.DeletionTimestamp != nil {
		return notReady(ref, "it is being deleted")
	}
	switch ready := cloud.Ready(class.Status.Conditions); {
	case ready.Status == "":
		return notYet(ref, "its status is not worked out yet")
	case ready.ObservedGeneration != class.Generation:
		return notYet(ref, "its status is of an earlier spec")
	case ready.Status == metav1.ConditionFalse:
		return notReady(ref, cmp.Or(ready.Message, ready.Reason, "its condition Ready is False"))
	case ready.Status != metav1.ConditionTrue:
		return notYet(ref, cmp.Or(ready.Message, ready.Reason, "its condition Ready is "+string(ready.Status)))
	}
	return nil
}

// catalogued is what InstanceTypes last answered for a class, and from what.
type catalogued struct {
	from  basis
	types []*catalog.Type
}

// basis is what an answer depends on.
type basis struct {
	uid, resourceVersion string
	market, resolved     uint64
	soldOut, shifts      [2]uint64
}

// InstanceTypes lists what can be launched under a class, from memory. A process that has just
// started does not answer before it knows how much room the class's capacity reservations have:
// on-demand machines would be launched while reserved capacity is free.
func (p *Provider) InstanceTypes(ctx context.Context, ref snapshot.ClassRef) ([]*catalog.Type, error) {
	class, err := p.class(ctx, ref)
	if err != nil {
		return nil, err
	}
	for _, r := range class.Status.CapacityReservations {
		if _, known := p.resolver.Left(r.ID); !known {
			return nil, notYet(ref, "how much room its capacity reservation "+r.ID+" has is not known yet")
		}
	}
	return p.types(class)
}

// types is the catalogue of a class as Kubernetes has it.
func (p *Provider) types(class *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	_, _, serial := p.market.read()
	_, shifts := p.shifts.active(p.Clock.Now())
	from := basis{string(class.UID), class.ResourceVersion, serial, p.resolver.Serial(), p.soldOut.sweep(), shifts}
	p.mu.Lock()
	defer p.mu.Unlock()
	if have, ok := p.classes[class.Name]; ok && have.from == from {
		return have.types, nil
	}
	types, err := p.catalogue(class)
	if err == nil {
		p.classes[class.Name] = catalogued{from, types}
	}
	return types, err
}

// catalogue is what can be launched under a class whose status is known.
func (p *Provider) catalogue(class *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	infos, zones, _ := p.market.read()
	if len(infos) == 0 {
		return nil, notYet(refOf(class), "what EC2 sells in "+p.Region+" is not known yet")
	}
	if class.Spec.PlacementGroupSelector != nil && p.resolver.Group(class.Name) == nil {
		return nil, notYet(refOf(class), "its placement group is not known yet")
	}
	settings := p.settings(class)
	if err := settings.Check(infos); err != nil {
		return nil, notReady(refOf(class), err.Error())
	}
	supply := p.supply(class)
	var types []*catalog.Type
	for i := range infos {
		supply.Zones = inZones(class, zones[infos[i].Name])
		if t := instancetype.Resolve(&infos[i], settings, supply); t != nil {
			types = append(types, t)
		}
	}
	return types, nil
}

func refOf(class *awsv1.EC2NodeClass) snapshot.ClassRef {
	return snapshot.ClassRef{Group: Group, Kind: Kind, Name: class.Name}
}

// settings are the class's and the process's.
func (p *Provider) settings(class *awsv1.EC2NodeClass) *instancetype.Class {
	c := instancetype.ClassOf(class, p.Settings)
	c.Region, c.IPv6, c.Expressions = p.Region, p.IPv6, p.Expressions
	seen := p.seen.of(class)
	c.Memory, c.Allocatable = seen.memory, seen.allocatable
	if g := p.resolver.Group(class.Name); g != nil {
		c.PlacementGroup, c.PlacementStrategy, c.Partitions = g.ID, g.Strategy, g.Partitions
	}
	return &c
}

// group is the ID of a class's placement group, empty without one.
func (p *Provider) group(class *awsv1.EC2NodeClass) string {
	if g := p.resolver.Group(class.Name); g != nil {
		return g.ID
	}
	return ""
}

func (p *Provider) supply(class *awsv1.EC2NodeClass) *instancetype.Supply {
	group, shifted, full := p.group(class), p.shifted(class), p.full(class)
	return &instancetype.Supply{
		Price: p.Prices.Of,
		SoldOut: func(typeName string, o *catalog.Offering) (lacks string, out bool) {
			switch {
			case shifted[o.Zone]:
				return "", true
			case slices.Contains(full, o.Zone):
				return network.Lacks(o.Zone), true
			}
			return p.soldOut.stands(scope{group: group, reservation: o.Reservation}, o.Key(typeName))
		},
		Image: func(labels requirement.Set) string { return image.For(class.Status.AMIs, labels) },
		Reservations: instancetype.Reservations(class.Status.CapacityReservations, func(id string) int {
			left, _ := p.resolver.Left(id)
			return left
		}),
	}
}

// full are the zones that have no addresses left, as EC2 said last or as launches have told of late.
func (p *Provider) full(class *awsv1.EC2NodeClass) []string {
	return network.Full(class.Status.Subnets, func(id string) bool {
		_, refused := p.soldOut.stands(scope{subnet: id}, catalog.Key{})
		return refused || p.addresses.None(id)
	})
}

// inZones are the zones of a class's subnets in which a type is sold.
func inZones(class *awsv1.EC2NodeClass, sold []string) []instancetype.Zone {
	var out []instancetype.Zone
	for _, s := range class.Status.Subnets {
		zone := instancetype.Zone{Name: s.Zone, ID: s.ZoneID}
		if slices.Contains(sold, s.Zone) && !slices.Contains(out, zone) {
			out = append(out, zone)
		}
	}
	return out
}
