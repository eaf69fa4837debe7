package provider

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// What EC2 could not deliver is not counted on for shortest, and for twice as long each time
// that it still cannot, up to longest.
const (
	shortest = 3 * time.Minute
	longest  = 30 * time.Minute
)

// scope is within what an offering is sold out: a placement group, whose limits are its own, a
// capacity reservation or a subnet, by ID. Most have none of them.
type scope struct{ group, reservation, subnet string }

// soldOutKey is an offering within its scope. One with a capacity type alone is all of that
// type, in any scope; one with nothing is whatever needs an address of a subnet.
type soldOutKey struct {
	catalog.Key
	scope
}

type refusal struct {
	until time.Time
	pause time.Duration
	// lacks is as in [catalog.Offering].
	lacks string
}

// soldOut remembers what EC2 could not deliver. It is safe for concurrent use.
type soldOut struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	until map[soldOutKey]refusal
	// serial grows with each change.
	serial uint64
}

// add remembers that offerings were refused, and for want of what other than EC2's capacity. A
// refusal while one stands is the same one.
func (s *soldOut) add(in scope, lacks string, keys ...catalog.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	for _, k := range keys {
		key := soldOutKey{k, in}
		before, known := s.until[key]
		pause := shortest
		switch {
		case known && now.Before(before.until):
			continue
		case known && now.Before(before.until.Add(longest)):
			pause = min(2*before.pause, longest)
		}
		s.until[key] = refusal{now.Add(pause), pause, lacks}
		s.serial++
	}
}

// returned takes note that a machine in a placement group has ended: there is room in its zone.
func (s *soldOut) returned(group, zone string) {
	if group == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.until {
		if key.group == group && key.Zone == zone {
			delete(s.until, key)
			s.serial++
		}
	}
}

// stands reports whether an offering is still not to be counted on, and what it lacks.
func (s *soldOut) stands(in scope, k catalog.Key) (lacks string, stands bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	for _, key := range []soldOutKey{{k, in}, {Key: catalog.Key{CapacityType: k.CapacityType}}} {
		if r := s.until[key]; now.Before(r.until) {
			return r.lacks, true
		}
	}
	return "", false
}

// sweep forgets what is over for good, and reports the state that answers depend on: it
// changes with what stands.
func (s *soldOut) sweep() (state [2]uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, standing := s.clock.Now(), uint64(0)
	for key, r := range s.until {
		switch {
		case now.Before(r.until):
			standing++
		case !now.Before(r.until.Add(longest)):
			delete(s.until, key)
		}
	}
	return [2]uint64{s.serial, standing}
}
