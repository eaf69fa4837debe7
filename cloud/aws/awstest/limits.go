package awstest

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Limit is a token bucket: Burst calls at once, PerSecond again.
type Limit struct{ PerSecond, Burst float64 }

// DocumentedLimits are the buckets that EC2's documentation gives an account in one
// region: those of single actions by their name, and two for whatever else reads and
// writes, Describe* and *.
func DocumentedLimits() map[string]Limit {
	return map[string]Limit{
		"Describe*":          {20, 100},
		"*":                  {5, 50},
		"RunInstances":       {2, 5},
		"TerminateInstances": {5, 100},
		"CreateTags":         {10, 100},
	}
}

// SetLimits throttles EC2's actions from now on; nil lifts it. A key is an action or a
// pattern of such; the longest that matches counts, and all actions of a key share its
// bucket.
func (c *Cloud) SetLimits(limits map[string]Limit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits, c.buckets = limits, map[string]*bucket{}
}

type bucket struct {
	tokens float64
	at     time.Time
}

// throttled takes a token; the lock is held.
func (c *Cloud) throttled(service, action string) error {
	if service != "ec2" {
		return nil
	}
	var key string
	for pattern := range c.limits {
		if ok, _ := path.Match(pattern, action); ok && cmp.Or(cmp.Compare(len(pattern), len(key)), cmp.Compare(pattern, key)) > 0 {
			key = pattern
		}
	}
	if key == "" {
		return nil
	}
	limit, now := c.limits[key], c.config.Clock.Now()
	b := c.buckets[key]
	if b == nil {
		b = &bucket{limit.Burst, now}
		c.buckets[key] = b
	}
	b.tokens, b.at = min(limit.Burst, b.tokens+limit.PerSecond*now.Sub(b.at).Seconds()), now
	if b.tokens < 1 {
		return &wire.Error{Code: "RequestLimitExceeded", Message: "Request limit exceeded.", Status: http.StatusServiceUnavailable}
	}
	b.tokens--
	return nil
}

// Fault befalls calls.
type Fault struct {
	// Action is that of the calls, as IAM writes it, or a pattern: ec2:CreateFleet, iam:*.
	Action string
	// Code, Message and Status are the answer; Status zero is 400. Without a code the call
	// is carried out and the connection breaks off before the answer, unless it is held.
	Code, Message string
	Status        int
	// Hold keeps the answer back for so long; it ends with the connection. The call has been
	// carried out.
	Hold time.Duration
	// Times is how many calls it befalls; zero is all, until [Cloud.ClearFaults].
	Times int
}

// Check says what of a fault makes no sense.
func (f *Fault) Check() error {
	switch {
	case !Plays(f.Action):
		return fmt.Errorf("%s: no action that is played here has this name, such as ec2:CreateFleet", f.Action)
	case f.Times < 0:
		return fmt.Errorf("%d calls: must not be negative", f.Times)
	case f.Hold < 0:
		return fmt.Errorf("hold back for %v: must not be negative", f.Hold)
	}
	return nil
}

// Plays reports whether an action, as IAM writes it, or a pattern is one of those that are
// answered.
func Plays(pattern string) bool {
	services, err := wire.Services()
	if err != nil {
		return false
	}
	for name, service := range services {
		for action := range service.Operations {
			if ok, _ := path.Match(pattern, name+":"+action); ok {
				return true
			}
		}
	}
	return false
}

// Inject lets a fault befall the next calls. Of several for a call the first counts.
func (c *Cloud) Inject(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, &f)
}

// ClearFaults ends all faults.
func (c *Cloud) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
}

// fault takes what befalls a call, nil for nothing; the lock is held.
func (c *Cloud) fault(action string) *Fault {
	i := slices.IndexFunc(c.faults, func(f *Fault) bool { ok, _ := path.Match(f.Action, action); return ok })
	if i < 0 {
		return nil
	}
	f := c.faults[i]
	if f.Times > 0 {
		if f.Times--; f.Times == 0 {
			c.faults = slices.Delete(slices.Clone(c.faults), i, i+1)
		}
	}
	return f
}

// Calls counts the calls by action, as IAM writes it, and those of them that were refused
// as too frequent.
func (c *Cloud) Calls() (all, throttled map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, throttled = map[string]int{}, map[string]int{}
	for action, n := range c.calls {
		all[action] = n.all
		if n.throttled > 0 {
			throttled[action] = n.throttled
		}
	}
	return all, throttled
}

type count struct{ all, throttled int }

// counted counts a call; the lock is held.
func (c *Cloud) counted(action string, throttled bool) {
	n := c.calls[action]
	n.all++
	if throttled {
		n.throttled++
	}
	c.calls[action] = n
}
