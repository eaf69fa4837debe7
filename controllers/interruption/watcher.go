package interruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/ledger"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Interval is the longest time between two looks. Of a spot machine's two minutes
// a look may cost that much.
const Interval = 2 * time.Second

const name = "interruption"

// Watcher answers the cloud's announcements. It is not safe for concurrent use.
type Watcher struct {
	loop.Deps
	source cloud.EventSource
}

// New makes a Watcher of what is on record, and of a source, which may be nil.
func New(d loop.Deps, source cloud.EventSource) *Watcher { return &Watcher{Deps: d, source: source} }

// Add registers the loop, on the leader.
func Add(mgr manager.Manager, d loop.Deps) error {
	source, _ := cloud.As[cloud.EventSource](d.Provider)
	return mgr.Add(New(d, source))
}

// Start looks until the context ends.
func (w *Watcher) Start(ctx context.Context) error {
	return w.Every(metrics.WithController(ctx, name), 0, Interval, "answering interruptions", w.Look)
}

// Look does once what is due. With an error it has still done what it could.
func (w *Watcher) Look(ctx context.Context) error {
	if !w.Store.Synced() {
		return nil
	}
	s := w.Store.Snapshot(w.Clock.Now(), nil)
	events, err := w.events(ctx, s)
	if err != nil {
		return err
	}
	d := interruption.Decide(s, events)
	var errs []error
	for _, r := range d.Responses {
		if r.Node.Claim == nil || !w.Manages(r.Node.Claim.Class) {
			continue
		}
		if err := w.answer(ctx, r); err != nil && !loop.Overtaken(err) {
			errs = append(errs, fmt.Errorf("%s of NodeClaim %s: %w", r.Action, r.Node.Claim.Name, err))
		}
	}
	return errors.Join(errs...)
}

// events are what the provider announces and what is on record from other sources.
func (w *Watcher) events(ctx context.Context, s *snapshot.Snapshot) ([]cloud.Event, error) {
	recorded := ledger.Events(s)
	if w.source == nil {
		return recorded, nil
	}
	events, err := w.source.Events(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the cloud what it announces: %w", err)
	}
	return append(slices.Clone(events), recorded...), nil
}
