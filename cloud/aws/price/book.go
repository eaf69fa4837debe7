// Package price keeps what instance types cost in one region.
//
// On-demand prices come from AWS's price list, spot prices from what EC2 sold last. Before the
// first answer, and where there is none to be had, the built-in table of package cloud/ec2
// stands in: its prices are those of the region, or of us-east-1 if it has none of the region,
// and a spot price that is not known yet is the on-demand price.
package price

import (
	"maps"
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
		prices, err = ec2.OnDemand(ec2.Region)
	}
	return &Book{onDemand: maps.Clone(prices), spot: map[[2]string]Spot{}}, err
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

// Updated is when the prices were last heard from AWS; zero is never.
func (b *Book) Updated() (onDemand, spot time.Time) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.listed, b.traded
}
