package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

var (
	_ cloud.Restarter = (*Provider)(nil)
	_ cloud.Rebooter  = (*Provider)(nil)
)

// Irrestartable is about spot machines, which EC2 does not let us stop, and about the
// instance store, which does not outlive a stop.
func (p *Provider) Irrestartable(ctx context.Context, providerID string) (string, error) {
	id, err := idOf(providerID)
	if err != nil {
		return "", err
	}
	i, known := p.machines.Known(id)
	if !known {
		found, err := p.found(ctx, providerID)
		if err != nil {
			return "", err
		}
		i = *found
	}
	info, known := p.market.info(i.Type)
	switch {
	case i.Spot:
		return "EC2 does not stop a spot instance of a one-time request", nil
	case !known:
		return "", fmt.Errorf("%s: type %s is not known yet", providerID, i.Type)
	case info.StoreGB > 0:
		return fmt.Sprintf("the instance store of type %s, %d GB, would lose its data", i.Type, info.StoreGB), nil
	}
	return "", nil
}

// Reboot tells a machine to reboot.
func (p *Provider) Reboot(ctx context.Context, providerID string) error {
	id, err := idOf(providerID)
	if err == nil {
		err = p.AWS.Reboot(ctx, id)
	}
	return of(providerID, err)
}

// Stop begins to stop a machine.
func (p *Provider) Stop(ctx context.Context, providerID string) error {
	id, err := idOf(providerID)
	if err == nil {
		err = p.AWS.Stop(ctx, id)
	}
	return of(providerID, err)
}

// Start begins to start a machine that is stopped.
func (p *Provider) Start(ctx context.Context, providerID string) error {
	id, err := idOf(providerID)
	if err != nil {
		return err
	}
	err = p.AWS.Start(ctx, id)
	var short *cloud.InsufficientCapacityError
	if i, known := p.machines.Known(id); known && errors.As(err, &short) {
		short.Offerings = []catalog.Key{{Type: i.Type, Zone: i.Zone, CapacityType: capacityType(&i)}}
	}
	return of(providerID, err)
}

// of says which machine an error is about.
func of(providerID string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", providerID, err)
}
