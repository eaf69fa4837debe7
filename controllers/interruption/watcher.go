package interruption

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/interruption"
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

// New makes a Watcher of a source.
func New(d loop.Deps, source cloud.EventSource) *Watcher { return &Watcher{Deps: d, source: source} }

// Add registers the loop, on the leader, if the provider is a source of events.
func Add(mgr manager.Manager, d loop.Deps) error {
	source, ok := cloud.As[cloud.EventSource](d.Provider)
	if !ok {
		return nil
	}
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
	events, err := w.source.Events(ctx)
	if err != nil {
		return fmt.Errorf("asking the cloud what it announces: %w", err)
	}
	d := interruption.Decide(w.Store.Snapshot(w.Clock.Now(), nil), events)
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
