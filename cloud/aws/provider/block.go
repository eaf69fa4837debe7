package provider

import (
	"context"
	"fmt"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// blockSource is the Source of events about capacity blocks that end.
const blockSource = "ec2:DescribeCapacityReservations"

// endings are the ends of capacity blocks, for each machine in one. Like Karpenter, they are told
// from when nothing is launched into the block any more: once the class's status says that it
// expires, by which plans go, or what replaces a machine would be launched into it again.
func (p *Provider) endings(ctx context.Context) ([]cloud.Event, error) {
	machines := p.machines.InBlocks()
	if len(machines) == 0 {
		return nil, nil
	}
	var classes awsv1.EC2NodeClassList
	if err := p.Reader.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("listing EC2NodeClasses: %w", err)
	}
	ends := map[string]time.Time{}
	for i := range classes.Items {
		for _, r := range classes.Items[i].Status.CapacityReservations {
			if r.EndTime != nil && r.State == ec2class.CapacityReservationStateExpiring {
				ends[r.ID] = r.EndTime.Time
			}
		}
	}
	var out []cloud.Event
	for _, m := range machines {
		end, known := ends[m.Reservation]
		if !known {
			continue
		}
		reclaimed := end.Add(-api.Reclaims(m.Type))
		out = append(out, cloud.Event{
			ID: m.Reservation + "/" + m.ID, Kind: interruption.Reservation, Machine: providerID(m.Zone, m.ID), NotBefore: reclaimed,
			State: interruption.Announced, Confirmed: true, Source: blockSource, Issued: reclaimed.Add(-api.Expiring),
			Text: fmt.Sprintf("capacity block %s ends at %s", m.Reservation, end.UTC().Format(time.RFC3339)),
		})
	}
	return out, nil
}
