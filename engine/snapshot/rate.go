package snapshot

import (
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// Rate bounds how fast interruptions take machines of a pool away: a token bucket
// that holds Burst tokens and gets another every so often.
type Rate struct {
	Scope RateScope
	Burst int
	Every time.Duration
}

// RateScope is what shares a bucket.
type RateScope string

// The scopes.
const (
	// RatePool: all machines of the pool.
	RatePool RateScope = "Pool"
	// RateZone: those of the pool in one zone.
	RateZone RateScope = "Zone"
)

// Buckets is how full a pool's buckets are: for each, when it is full again if
// nothing is taken. One that is not there is full.
type Buckets map[string]time.Time

// Risk is an offering that the cloud has taken machines back from: how often in a row,
// and until when it rests.
type Risk struct {
	Type         string    `json:"type"`
	Zone         string    `json:"zone"`
	CapacityType string    `json:"capacityType"`
	Times        int       `json:"times"`
	Until        time.Time `json:"until"`
}

// Key names the offering.
func (r Risk) Key() catalog.Key {
	return catalog.Key{Type: r.Type, Zone: r.Zone, CapacityType: r.CapacityType}
}

// Free is when a token can be had of a bucket that is full at a time.
func (r Rate) Free(full time.Time) time.Time {
	return full.Add(-time.Duration(r.Burst-1) * r.Every)
}

// Take is when the bucket is full again after a token is taken now.
func (r Rate) Take(full, now time.Time) time.Time {
	if full.Before(now) {
		full = now
	}
	return full.Add(r.Every)
}
