package awstest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/cloud/aws/events/eventstest"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// Follow tells of every change of an instance's state, and of reboots, in order, until ctx ends. Changes
// of state are also put into the queue, as EventBridge does. An instance that is there at the beginning
// is told of as well. Without a follower no state change reaches the queue.
func (c *Cloud) Follow(ctx context.Context, tell func(ec2test.Instance)) {
	type seen struct {
		state   string
		reboots int
	}
	known := map[string]seen{}
	for {
		list, next, changed := c.EC2.Instances()
		now := c.config.Clock.Now()
		all := map[string]seen{}
		for i := range list {
			before, now := known[list[i].ID], seen{list[i].State, list[i].Reboots}
			all[list[i].ID] = now
			if before.state != now.state {
				// A queue that is there takes every message.
				_ = c.publish(func(o eventstest.Origin) (string, error) {
					return eventstest.StateChange(o, c.event(), list[i].ID, list[i].State)
				})
			}
			if before != now {
				tell(list[i])
			}
		}
		known = all
		var due <-chan time.Time
		if !next.IsZero() {
			due = c.config.Clock.After(next.Sub(now))
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-due:
		}
	}
}

// event is the ID of a new event.
func (c *Cloud) event() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events++
	return fmt.Sprintf("00000000-0000-4000-9000-%012d", c.events)
}

// publish puts a message into the first queue, if there is one.
func (c *Cloud) publish(body func(eventstest.Origin) (string, error)) error {
	text, err := body(eventstest.Origin{Account: c.config.Account, Region: c.config.Region, Time: c.config.Clock.Now()})
	if err != nil || len(c.config.Queues) == 0 {
		return err
	}
	return c.SQS.Send(c.config.Queues[0], text, 0)
}

// Announce puts a message about something into the queue, as AWS does. It changes nothing
// by itself: see [Cloud.Interrupt]. Without an ID the event gets one.
func (c *Cloud) Announce(e interruption.Event) error {
	if e.ID == "" {
		e.ID = c.event()
	}
	if len(c.config.Queues) == 0 {
		return errors.New("there is no queue to announce it in")
	}
	return c.publish(func(o eventstest.Origin) (string, error) { return eventstest.Body(o, e) })
}

// SpotNotice is how long before its end a spot instance is told.
const SpotNotice = 2 * time.Minute

// Interrupt takes an instance back that is spot or in a reservation that can be interrupted: it
// is announced at once, and done after the notice.
func (c *Cloud) Interrupt(id string, notice time.Duration) error {
	spot, err := c.EC2.Reclaim(id, notice)
	if err != nil {
		return err
	}
	kind := interruption.Reservation
	if spot {
		kind = interruption.Spot
	}
	return c.Announce(interruption.Event{Kind: kind, Machine: id})
}

// scheduled are EC2's words for what maintenance does, and how it describes it.
var scheduled = map[interruption.Code][2]string{
	interruption.Stop:       {"instance-stop", "The instance is running on degraded hardware"},
	interruption.Retirement: {"instance-retirement", "The instance is running on degraded hardware"},
	interruption.Reboot:     {"system-reboot", "scheduled reboot"},
	interruption.Network:    {"system-maintenance", "network maintenance"},
	interruption.Power:      {"system-maintenance", "power maintenance"},
}

// Schedule schedules maintenance of an instance: EC2 lists it and AWS Health tells of it at
// once. See [ec2test.EC2.Schedule] for what happens then.
func (c *Cloud) Schedule(id string, does interruption.Code, notBefore time.Time) error {
	words, ok := scheduled[does]
	if !ok {
		return fmt.Errorf("%q is not what maintenance does; it is one of %v", does, interruption.Codes())
	}
	event, err := c.EC2.Schedule(id, ec2test.Event{Code: words[0], Description: words[1], NotBefore: notBefore, NotAfter: notBefore.Add(2 * time.Hour)})
	if err != nil {
		return err
	}
	return c.Announce(interruption.Event{ID: event, Kind: interruption.Maintenance, Code: does, Machine: id, NotBefore: notBefore})
}
