// Package health says whether the machines of a pool register, by Karpenter's
// measure: of the last four launches, counted as if the missing ones had succeeded,
// less than half may have failed.
//
//	claim ──► Outcome ──► Ring.Push ──► Ring.Healthy
//
// What is made of that (the condition NodeRegistrationHealthy) is a caller's. Its
// times and reasons are Karpenter's (v1.14).
package health

import (
	"time"

	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const (
	ringSize       = 4
	unhealthyShare = 0.5
)

// Ring is how the last launches of one pool ended. The zero value knows of none. It
// is not safe for concurrent use.
type Ring struct {
	failed  [ringSize]bool
	next, n int
}

// Seeded is the ring of a pool of which only the verdict is known.
func Seeded(healthy bool) *Ring {
	r := &Ring{}
	r.Push(!healthy)
	if !healthy {
		r.Push(true)
	}
	return r
}

// Push adds a launch.
func (r *Ring) Push(failed bool) {
	r.failed[r.next] = failed
	r.next = (r.next + 1) % ringSize
	r.n = min(r.n+1, ringSize)
}

// Empty reports whether nothing is known, so that there is no verdict.
func (r *Ring) Empty() bool { return r.n == 0 }

// Healthy is the verdict; meaningless while the ring is empty.
func (r *Ring) Healthy() bool {
	failures := 0
	for _, f := range r.failed {
		if f {
			failures++
		}
	}
	return float64(failures)/ringSize < unhealthyShare
}

// Outcome says how a launch ended, if it did in the second of since or later. Claims
// that still wait at the end of the lifecycle's timeouts are given up, which is what
// makes a launch a failure, and say so; those that Karpenter gave up are known by
// their age. One that is deleted earlier says nothing about its pool.
func Outcome(c *snapshot.Claim, since time.Time) (failed, ended bool) {
	since = since.Truncate(time.Second)
	if c.Is(snapshot.Registered) {
		return false, !c.Conditions[snapshot.Registered].Since.Before(since)
	}
	if c.Deleted.IsZero() || c.Deleted.Before(since) {
		return false, false
	}
	if lifecycle.DeleteReason(c.Annotations[lifecycle.GivenUpAnnotation]).Failure() {
		return true, true
	}
	age, limit := c.Deleted.Sub(c.Created), snapshot.DefaultLaunchTimeout
	if c.Is(snapshot.Launched) {
		limit = snapshot.DefaultRegistrationTimeout
	}
	return true, age >= limit
}

// Why is the reason and message of a failure: the claim's own if it could not be
// launched.
func Why(c *snapshot.Claim) (reason, message string) {
	if c.Is(snapshot.Launched) {
		return "RegistrationFailed", "the node did not register in time"
	}
	launched := c.Conditions[snapshot.Launched]
	return launched.Reason, launched.Message
}
