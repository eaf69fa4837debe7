package provider

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// providerID is how EC2's cloud controller manager names a machine.
func providerID(zone, id string) string { return "aws:///" + zone + "/" + id }

var instanceID = regexp.MustCompile(`^i-[0-9a-z]+$`)

// idOf is the instance's own part of a provider ID. Errors: cloud.ErrNotFound.
func idOf(providerID string) (string, error) {
	rest, ok := strings.CutPrefix(providerID, "aws:///")
	id := rest[strings.LastIndexByte(rest, '/')+1:]
	if !ok || !instanceID.MatchString(id) {
		return "", fmt.Errorf("%q is not a provider ID of this cloud: %w", providerID, cloud.ErrNotFound)
	}
	return id, nil
}

// found describes a machine that is not gone for good. Errors: cloud.ErrNotFound.
func (p *Provider) found(ctx context.Context, providerID string) (*api.Instance, error) {
	id, err := idOf(providerID)
	if err != nil {
		return nil, err
	}
	i, err := p.machines.Get(ctx, id)
	if err == nil && i.State == "terminated" {
		err = fmt.Errorf("%w, EC2 says %q", cloud.ErrNotFound, i.Cause)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", providerID, err)
	}
	return &i, nil
}

// Get describes one machine.
func (p *Provider) Get(ctx context.Context, providerID string) (cloud.Instance, error) {
	i, err := p.found(ctx, providerID)
	if err != nil {
		return cloud.Instance{}, err
	}
	return p.instance(ctx, i), nil
}

// List describes the cluster's machines: ours, and those that Karpenter launched.
func (p *Provider) List(ctx context.Context) ([]cloud.Instance, error) {
	found, err := p.machines.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]cloud.Instance, len(found))
	for i := range found {
		out[i] = p.instance(ctx, &found[i])
	}
	return out, nil
}

// Terminate begins a machine's shutdown.
func (p *Provider) Terminate(ctx context.Context, providerID string) error {
	id, err := idOf(providerID)
	if err != nil {
		return err
	}
	if err := p.machines.Terminate(ctx, id); err != nil {
		if i, known := p.machines.Known(id); known && errors.Is(err, cloud.ErrNotFound) {
			p.resolver.Drawn(i.Reservation, -1)
			p.soldOut.returned(i.Group, i.Zone)
		}
		return fmt.Errorf("%s: %w", providerID, err)
	}
	return nil
}

// capacityType is how a machine was bought, in the port's word.
func capacityType(i *api.Instance) string {
	switch {
	case i.Spot:
		return catalog.Spot
	case i.Reservation != "":
		return catalog.Reserved
	}
	return catalog.OnDemand
}

// states are the port's words for EC2's.
var states = map[string]cloud.State{
	"pending": cloud.Pending, "running": cloud.Running, "shutting-down": cloud.ShuttingDown, "stopping": cloud.Stopping, "stopped": cloud.Stopped,
}

// instance is a machine in the port's words, as completely as its class and type are known.
func (p *Provider) instance(ctx context.Context, i *api.Instance) cloud.Instance {
	out := cloud.Instance{
		ProviderID: providerID(i.Zone, i.ID), Token: i.Tags[TokenTag], Claim: i.Tags[ec2class.NodeClaimTagKey], Pool: i.Tags[ec2class.NodePoolTagKey],
		Type: i.Type, Zone: i.Zone, CapacityType: capacityType(i), ImageID: i.Image, State: states[i.State], Launched: i.Launched,
	}
	out.Labels = map[string]string{
		corev1.LabelInstanceTypeStable: i.Type, corev1.LabelTopologyZone: i.Zone, corev1.LabelTopologyRegion: p.Region, catalog.CapacityTypeLabel: out.CapacityType,
	}
	class, err := p.read(ctx, snapshot.ClassRef{Group: Group, Kind: Kind, Name: i.Tags[ec2class.NodeClassTagKey]})
	if err != nil {
		return out
	}
	info, known := p.market.info(i.Type)
	settings := p.settings(class)
	if !known || settings.Check([]instancetype.Info{info}) != nil {
		return out
	}
	// What the machine is does not depend on whether it can still be bought.
	t := instancetype.Describe(&info, settings, offering(i, out.CapacityType))
	out.Labels = labels(t, &t.Offerings[0], i.Tenancy)
	if i.Partition > 0 {
		out.Labels[ec2class.LabelPlacementGroupPartition] = strconv.Itoa(int(i.Partition))
	}
	out.Annotations = annotations(class)
	if version, hash, ok := strings.Cut(i.Tags[HashTag], "/"); ok {
		out.Annotations[ec2class.AnnotationEC2NodeClassHash], out.Annotations[ec2class.AnnotationEC2NodeClassHashVersion] = hash, version
	}
	if i.Profile != "" {
		out.Annotations[ec2class.AnnotationInstanceProfile] = i.Profile
	}
	out.Capacity, out.Allocatable = t.Capacity, t.Allocatable()
	out.JoinsBare = class.AMIFamily() == ec2class.AMIFamilyCustom
	return out
}

// labels are those that a choice decides. Where both tenancies would do, one was taken.
func labels(t *catalog.Type, o *catalog.Offering, tenancy string) map[string]string {
	out := catalog.Choice{Type: t, Offering: o}.Labels()
	out[ec2class.LabelInstanceTenancy] = tenancy
	if tenancy == "" {
		out[ec2class.LabelInstanceTenancy] = instancetype.Tenancies[0]
	}
	if o.Reservation == "" {
		for _, key := range reservationLabels {
			delete(out, key)
		}
	}
	return out
}

var reservationLabels = []string{ec2class.LabelCapacityReservationID, ec2class.LabelCapacityReservationType, ec2class.LabelCapacityReservationInterruptible}

var _ cloud.Reserver = (*Provider)(nil)

// ReservationLabels are the keys that name a capacity reservation.
func (p *Provider) ReservationLabels() []string { return slices.Clone(reservationLabels) }

// offering is how a machine was bought.
func offering(i *api.Instance, capacityType string) catalog.Offering {
	r := instancetype.Reservation{ID: i.Reservation, Interruptible: i.Interruptible}
	if i.Block {
		r.Kind = string(ec2class.CapacityReservationTypeCapacityBlock)
	}
	return instancetype.Bought(instancetype.Zone{Name: i.Zone, ID: i.ZoneID}, capacityType, r)
}
