package provider

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/engine/interruption"
)

var _ cloud.EventSource = (*Provider)(nil)

// shiftSource is the Source of events about zones.
const shiftSource = "arc-zonal-shift:GetManagedResource"

// shifts are the zonal shifts that ARC told last. It is safe for concurrent use.
type shifts struct {
	mu     sync.Mutex
	list   []api.Shift
	serial uint64
}

func (s *shifts) told(list []api.Shift) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.list, list) {
		s.list = list
		s.serial++
	}
}

// active are the shifts that have not ended, and a number that changes with them.
func (s *shifts) active(now time.Time) (list []api.Shift, state [2]uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.list {
		if one.Ends.IsZero() || now.Before(one.Ends) {
			list = append(list, one)
		}
	}
	return list, [2]uint64{s.serial, uint64(len(list))}
}

// readShifts asks ARC, if zonal shifts are to be followed.
func (p *Provider) readShifts(ctx context.Context) error {
	if p.ClusterARN == "" {
		return nil
	}
	list, err := p.AWS.Shifts(ctx, p.ClusterARN)
	if err != nil {
		return fmt.Errorf("reading the zonal shifts of %s: %w", p.ClusterARN, err)
	}
	p.shifts.told(list)
	return nil
}

// shifted are the zones of a class, by name, that traffic is shifted away from. Nothing is
// launched there.
func (p *Provider) shifted(class *awsv1.EC2NodeClass) map[string]bool {
	active, _ := p.shifts.active(p.Clock.Now())
	out := map[string]bool{}
	for _, s := range active {
		for _, subnet := range class.Status.Subnets {
			if subnet.ZoneID == s.ZoneID {
				out[subnet.Zone] = true
			}
		}
	}
	return out
}

// Events lists the zones with a zonal shift, and the machines whose capacity block ends.
func (p *Provider) Events(ctx context.Context) ([]cloud.Event, error) {
	zones, err := p.impaired(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := p.endings(ctx)
	return append(zones, machines...), err
}

// impaired are the zones with a zonal shift, by the names that the classes' subnets give them.
func (p *Provider) impaired(ctx context.Context) ([]cloud.Event, error) {
	active, _ := p.shifts.active(p.Clock.Now())
	if len(active) == 0 {
		return nil, nil
	}
	names, err := p.zoneNames(ctx)
	if err != nil {
		return nil, err
	}
	var out []cloud.Event
	for _, s := range active {
		name, ok := names[s.ZoneID]
		if !ok {
			continue // no machine of ours can be there
		}
		out = append(out, cloud.Event{
			ID: s.ID, Kind: interruption.ZoneImpaired, Zone: name, NotBefore: s.Began, State: interruption.Announced,
			Confirmed: true, Source: shiftSource, Issued: s.Began, Text: s.Comment,
		})
	}
	slices.SortFunc(out, func(a, b cloud.Event) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// zoneNames are the account's names of zones, by EC2's own.
func (p *Provider) zoneNames(ctx context.Context) (map[string]string, error) {
	var classes awsv1.EC2NodeClassList
	if err := p.Reader.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("listing EC2NodeClasses: %w", err)
	}
	out := map[string]string{}
	for i := range classes.Items {
		for _, s := range classes.Items[i].Status.Subnets {
			out[s.ZoneID] = s.Zone
		}
	}
	return out, nil
}
