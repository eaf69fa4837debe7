package provider

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/price"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// How old answers of AWS may become. Types and list prices change every few weeks, spot
// prices a few times a day.
const (
	typesEvery  = 12 * time.Hour
	pricesEvery = 12 * time.Hour
	spotEvery   = time.Hour
)

// market is what EC2 sells in the region.
type market struct {
	mu    sync.RWMutex
	infos []instancetype.Info
	zones map[string][]string
	// serial grows with each change, of prices too.
	serial uint64
	// asked is when each question was last answered.
	asked map[string]time.Time
}

// Refresh asks AWS what it sells and at what price, where the last answer is too old. Types
// and zones must be known for anything to be launched: without them it fails. Prices have
// something to stand in for them, so their lack is logged.
func (p *Provider) Refresh(ctx context.Context) error {
	if err := p.refreshTypes(ctx); err != nil {
		return err
	}
	if err := p.refreshPrices(ctx); err != nil {
		log.FromContext(ctx).Error(err, "prices stay as they were", "region", p.Region)
	}
	return nil
}

func (p *Provider) refreshPrices(ctx context.Context) error {
	var failed []error
	if !p.Isolated && api.Lists(p.Region) {
		failed = append(failed, p.market.ask("prices", p.Clock.Now(), pricesEvery, func() error {
			listed, err := p.AWS.OnDemandPrices(ctx, p.Region)
			if err == nil {
				p.Prices.List(listed, p.Clock.Now())
			}
			return err
		}))
	}
	failed = append(failed, p.market.ask("spot prices", p.Clock.Now(), spotEvery, func() error {
		traded, err := p.AWS.SpotPrices(ctx, p.Clock.Now())
		if err != nil {
			return err
		}
		prices := make([]price.Spot, len(traded))
		for i, t := range traded {
			prices[i] = price.Spot(t)
		}
		p.Prices.Trade(prices, p.Clock.Now())
		return nil
	}))
	return errors.Join(failed...)
}

func (p *Provider) refreshTypes(ctx context.Context) error {
	return p.market.ask("types", p.Clock.Now(), typesEvery, func() error {
		infos, err := p.AWS.Types(ctx)
		if err != nil {
			return err
		}
		zones, err := p.AWS.TypeZones(ctx)
		if err != nil {
			return err
		}
		if err := complete(infos); err != nil {
			return err
		}
		slices.SortFunc(infos, func(a, b instancetype.Info) int { return cmp.Compare(a.Name, b.Name) })
		p.market.mu.Lock()
		defer p.market.mu.Unlock()
		p.market.infos, p.market.zones = infos, zones
		return nil
	})
}

// complete adds what EC2 does not say of its types.
func complete(infos []instancetype.Info) error {
	table, err := ec2.Types()
	if err != nil {
		return err
	}
	for i := range infos {
		at, ok := slices.BinarySearchFunc(table, infos[i].Name, func(t ec2.Type, name string) int { return strings.Compare(t.Name, name) })
		if ok {
			infos[i].AddTable(&table[at])
		}
	}
	return nil
}

// ask puts a question if the last answer is old.
func (m *market) ask(what string, now time.Time, every time.Duration, question func() error) error {
	m.mu.RLock()
	last, known := m.asked[what]
	m.mu.RUnlock()
	if known && now.Before(last.Add(every)) {
		return nil
	}
	if err := question(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked == nil {
		m.asked = map[string]time.Time{}
	}
	m.asked[what] = now
	m.serial++
	return nil
}

// read is what is known; the slice must not be modified.
func (m *market) read() (infos []instancetype.Info, zones map[string][]string, serial uint64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.infos, m.zones, m.serial
}

// info finds one type.
func (m *market) info(name string) (instancetype.Info, bool) {
	infos, _, _ := m.read()
	i, ok := slices.BinarySearchFunc(infos, name, func(t instancetype.Info, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return instancetype.Info{}, false
	}
	return infos[i], true
}

// every is how often Run looks what is old, and shiftsEvery how often it asks for zonal shifts.
const (
	every       = time.Minute
	shiftsEvery = 30 * time.Second
)

// Run keeps what is known up to date until the context ends. It is an error, for a new process
// to start, once AWS tells of the cluster what it refused to tell at the start.
func (p *Provider) Run(ctx context.Context) error {
	var last time.Time
	for {
		err := p.readShifts(ctx)
		if now := p.Clock.Now(); now.Sub(last) >= every {
			last = now
			err = errors.Join(err, p.Refresh(ctx), p.sweepTemplates(ctx), p.sweepProfiles(ctx), p.relist(ctx), p.readVersion(ctx))
			if p.Discover != nil && p.Discover(ctx) == nil {
				return errAnew
			}
		}
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "keeping up with AWS")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.Clock.After(shiftsEvery):
		}
	}
}
