// Package servertime is a clock that agrees with the API server's.
//
//	requests ──► Clock.Wrap ──► API server
//	                 └────────► the Date of its answers, by which Now is shifted
//
// When objects were created, and when their deletion was asked for, is the API server's time,
// and so is what follows from it, such as the end of a grace period. A process whose own clock
// is minutes ahead would delete pods before that, and one that is behind would keep new Nodes
// from taking pods for as long.
//
// A Date is a whole second between request and answer. The shift changes only when an answer
// shows that it is wrong, and then by as little as makes it agree: clocks that differ by less
// than a second stay as they are, and a slow answer, which shows less, does no harm.
package servertime

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Tell is by how much the shift has to change to be reported.
const Tell = 10 * time.Second

// Clock is another clock, shifted to agree with the API server's. It is safe for concurrent use.
type Clock struct {
	clock.Clock
	report func(shift time.Duration)

	mu          sync.Mutex
	shift, told time.Duration
}

// New shifts a clock; report, which may be nil, is told by how much it is behind, negative if it
// is ahead, whenever that has changed by [Tell].
func New(own clock.Clock, report func(shift time.Duration)) *Clock {
	return &Clock{Clock: own, report: report}
}

// Now is the API server's time, as far as it has told.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Clock.Now().Add(c.shift)
}

// Since is how long ago a time is.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Wrap is a transport whose answers are read; for rest.Config.Wrap.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper { return transport{c, next} }

type transport struct {
	clock *Clock
	next  http.RoundTripper
}

// RoundTrip is http.RoundTripper's.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := t.clock.Clock.Now()
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
			t.clock.agree(date, sent, t.clock.Clock.Now())
		}
	}
	return resp, err
}

// agree takes in that it was some time in the second of date between two times of our own.
func (c *Clock) agree(date, sent, answered time.Time) {
	c.mu.Lock()
	c.shift = min(max(c.shift, date.Sub(answered)), date.Add(time.Second).Sub(sent))
	shift, tell := c.shift, (c.shift-c.told).Abs() >= Tell
	if tell {
		c.told = shift
	}
	c.mu.Unlock()
	if tell && c.report != nil {
		c.report(shift)
	}
}
