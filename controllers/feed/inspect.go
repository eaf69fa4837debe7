package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/ledger"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Inspect puts on record what the cloud's API lists, and notes as over what it
// listed before and lists no longer.
func (f *Feed) Inspect(ctx context.Context) error {
	inspector := f.Announcements.Inspector
	events, err := inspector.List(ctx)
	if err != nil {
		f.Metrics.FeedFailed("list")
		return err
	}
	listed := map[string][]cloud.Event{}
	var errs []error
	for _, e := range events {
		machine := loop.MachineName(e.Machine)
		listed[machine] = append(listed[machine], e)
		_, err := f.record(ctx, e.Machine, e)
		errs = append(errs, err)
	}
	for _, n := range f.Store.Snapshot(f.Clock.Now(), nil).Nodes {
		if n.Claim == nil || n.Claim.Annotations[ledger.Annotation] == "" {
			continue
		}
		machine := n.Claim.ProviderID
		_, err := f.change(ctx, machine, func(r ledger.Record, now time.Time) (ledger.Record, bool) {
			return r.Withdraw(inspector.Source(), listed[loop.MachineName(machine)], now)
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Confirm asks the cloud's API about the events that a policy wants confirmed.
func (f *Feed) Confirm(ctx context.Context) error {
	waiting := f.unconfirmed()
	if len(waiting) == 0 {
		return nil
	}
	confirmed, err := f.Announcements.Inspector.Confirm(ctx, waiting)
	if err != nil {
		f.Metrics.FeedFailed("confirm")
		return fmt.Errorf("%d announcements: %w", len(waiting), err)
	}
	var errs []error
	for _, e := range confirmed {
		e.Confirmed = true
		_, err := f.record(ctx, e.Machine, e)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// unconfirmed are the events on record that are not acted upon for no other reason
// than that they are not confirmed.
func (f *Feed) unconfirmed() []cloud.Event {
	s := f.Store.Snapshot(f.Clock.Now(), nil)
	events := ledger.Events(s)
	if !slices.ContainsFunc(events, func(e cloud.Event) bool { return !e.Confirmed && !e.Over() }) {
		return nil
	}
	var out []cloud.Event
	for _, r := range interruption.Decide(s, events).Responses {
		for _, v := range r.Verdicts {
			if v.Reason.Code == plan.Unconfirmed {
				out = append(out, v.Event)
			}
		}
	}
	return out
}
