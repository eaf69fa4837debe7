package controllers

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// leaseDuration is how long others wait since they saw the lease renewed before they take it.
const leaseDuration = 15 * time.Second

// fenced makes every client of a configuration refuse to write anything but events and leases
// unless the lease has been renewed within leaseDuration. A process that was frozen goes on where
// it was, while another leads already: client-go notices it up to ten seconds later.
func fenced(c *rest.Config, machine clock.PassiveClock) {
	f := &fence{clock: machine}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return fencing{next, f} })
}

// fence knows when the lease was renewed last. It is safe for concurrent use.
type fence struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	renewed time.Time // zero if it never was
}

func (f *fence) renew(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = at
}

// held reports whether no other process can have the lease. A machine that is suspended may
// stop its monotonic clock, so the wall clock counts as well.
func (f *fence) held() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	return !f.renewed.IsZero() && now.Sub(f.renewed) < leaseDuration && now.Round(0).Sub(f.renewed.Round(0)) < leaseDuration
}

type fencing struct {
	next  http.RoundTripper
	fence *fence
}

func (f fencing) RoundTrip(req *http.Request) (*http.Response, error) {
	if !mayPass(req.Method, req.URL.Path) && !f.fence.held() {
		return nil, fmt.Errorf("not holding the lease: %s %s is not sent", req.Method, req.URL.Path)
	}
	begun := f.fence.clock.Now()
	resp, err := f.next.RoundTrip(req)
	if err == nil && resp.StatusCode < 300 && req.Method != http.MethodGet && strings.HasPrefix(req.URL.Path, "/apis/coordination.k8s.io/") {
		f.fence.renew(begun)
	}
	return resp, err
}
