// Package price keeps what instance types cost in one region.
//
// On-demand prices come from AWS's price list, spot prices from what EC2 sold last. Before the
// first answer, and where there is none to be had, the built-in table of package cloud/ec2
// stands in: its prices are those of the region, or of us-east-1 if it has none of the region,
// and a spot price that is not known yet is the on-demand price.
package price

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Spot is what spot capacity of a type cost in a zone.
type Spot struct {
	Type, Zone string
	Price      float64
	At         time.Time
}

// Book is the prices of one region. It is safe for concurrent use.
type Book struct {
	// home is the region whose built-in prices stand in.
	home string

	mu       sync.RWMutex
	onDemand map[string]float64
	listed   time.Time
	spot     map[[2]string]Spot
	traded   time.Time
}

// NewBook is a book with the built-in prices of a region, or of us-east-1 where none are known.
func NewBook(region string) (*Book, error) {
	prices, err := ec2.OnDemand(region)
	if err == nil && prices == nil {
		region = ec2.Region
		prices, err = ec2.OnDemand(region)
	}
	return &Book{home: region, onDemand: maps.Clone(prices), spot: map[[2]string]Spot{}}, err
}

// List takes note of on-demand prices in US dollars per hour. What the list lacks keeps its
// price.
func (b *Book) List(prices map[string]float64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, p := range prices {
		b.onDemand[name] = p
	}
	if len(prices) > 0 {
		b.listed = now
	}
}

// Trade takes note of spot prices; of several for one type and zone the latest counts.
func (b *Book) Trade(prices []Spot, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range prices {
		key := [2]string{p.Type, p.Zone}
		if have, ok := b.spot[key]; !ok || !p.At.Before(have.At) {
			b.spot[key] = p
		}
	}
	if len(prices) > 0 {
		b.traded = now
	}
}

// Of is the price of an offering in US dollars per hour. Without one it is not sold.
func (b *Book) Of(typeName, zone, capacityType string) (float64, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if capacityType == catalog.Spot && !b.traded.IsZero() {
		p, ok := b.spot[[2]string{typeName, zone}]
		return p.Price, ok
	}
	p, ok := b.onDemand[typeName]
	return p, ok
}

// How old prices may become before they count as outdated: several times as old as they are when
// AWS is asked again.
const (
	listedFor = 48 * time.Hour
	tradedFor = 6 * time.Hour
)

// Condition is that of an EC2NodeClass that is False, and only there, while there is a doubt.
const Condition = "millwright.dev/PricesCurrent"

// Reasons of a doubt.
const (
	BuiltIn  = "BuiltIn"
	Outdated = "Outdated"
)

// Doubt says why prices may not be today's: some were never heard from AWS, or long ago. It is
// empty if all are. The message does not change from minute to minute.
func (b *Book) Doubt(now time.Time) (reason, message string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []string
	add := func(why, format string, args ...any) {
		if reason == "" {
			reason = why
		}
		out = append(out, fmt.Sprintf(format, args...))
	}
	switch {
	case b.listed.IsZero():
		add(BuiltIn, "on-demand prices are the built-in ones of %s, as of %s", b.home, ec2.PricedOn(b.home))
	case now.Sub(b.listed) > listedFor:
		add(Outdated, "on-demand prices were last heard on %s", b.listed.UTC().Format(time.RFC3339))
	}
	switch {
	case b.traded.IsZero():
		add(BuiltIn, "spot prices were not heard yet and count as the on-demand prices")
	case now.Sub(b.traded) > tradedFor:
		add(Outdated, "spot prices were last heard on %s", b.traded.UTC().Format(time.RFC3339))
	}
	return reason, strings.Join(out, "; ")
}

// Updated is when the prices were last heard from AWS; zero is never.
func (b *Book) Updated() (onDemand, spot time.Time) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.listed, b.traded
}
