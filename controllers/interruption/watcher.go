package interruption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/ledger"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Periods between looks to which nothing has called. A decision can also name the
// time at which it changes by itself.
const (
	idle = time.Minute
	// retry is for pods whose eviction a budget has refused, and for machines that restart.
	retry = 5 * time.Second
)

// Watcher answers the cloud's announcements. Looks come one at a time.
type Watcher struct {
	loop.Deps
	source cloud.EventSource
	// standing is whether the last look found anything that changes of machines, pods
	// or policies could change.
	standing atomic.Bool
	teller   *teller
}

// New makes a Watcher of what is on record, and of a source, which may be nil.
func New(d loop.Deps, source cloud.EventSource) *Watcher {
	w := &Watcher{Deps: d, source: source, teller: newTeller(d)}
	w.standing.Store(true)
	return w
}

// Look does once what is due, and returns how long to wait for the next look if
// nothing happens. With an error it has still done what it could.
func (w *Watcher) Look(ctx context.Context) (time.Duration, error) {
	if !w.Store.Synced() {
		return time.Second, nil
	}
	s := w.Managed(w.Store.Snapshot(w.Clock.Now(), nil))
	events, err := w.events(ctx, s)
	if err != nil {
		return 0, err
	}
	d := interruption.Decide(s, events)
	noted, unasked := w.ask(ctx, d.Responses)
	if noted {
		return loop.Soon, unasked // the next look finds the answer on the claims
	}
	w.standing.Store(len(d.Responses)+len(d.Requests) > 0)
	errs := []error{unasked, w.avoid(ctx, d.Risks(s)), w.writeRequests(ctx, d.Requests)}
	held := w.draw(ctx, d.Buckets)
	for pool, err := range held {
		errs = append(errs, fmt.Errorf("noting the rate limits of NodePool %s: %w", pool, err))
	}
	w.teller.take(ctx, d.Notices(s))
	errs = append(errs, w.answerAll(ctx, s.Now, d.Responses, held))
	return w.next(d), errors.Join(errs...)
}

// avoid keeps new machines away from offerings that the cloud takes machines back
// from, and has the NodePools remember them.
func (w *Watcher) avoid(ctx context.Context, risks interruption.Risks) error {
	for k, until := range risks.Until {
		w.Store.Refuse(k, until)
	}
	var errs []error
	for _, pool := range slices.Sorted(maps.Keys(risks.Changed)) {
		if err := w.NotePool(ctx, pool, cluster.RisksAnnotation, risks.Changed[pool]); err != nil {
			errs = append(errs, fmt.Errorf("noting the risks of NodePool %s: %w", pool, err))
		}
	}
	return errors.Join(errs...)
}

// next is how long to wait for the next look.
func (w *Watcher) next(d *interruption.Decision) time.Duration {
	wait := idle
	if at := d.Recheck; !at.IsZero() {
		wait = max(min(wait, at.Sub(w.Clock.Now())), time.Millisecond)
	}
	if slices.ContainsFunc(d.Responses, func(r interruption.Response) bool { return len(r.Evict) > 0 || r.Restart != nil }) {
		wait = min(wait, retry)
	}
	return wait
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

// answerAll does what is due for every machine. Those of pools whose rate limits could not
// be noted wait for as long as they can.
func (w *Watcher) answerAll(ctx context.Context, now time.Time, list []interruption.Response, held map[string]error) error {
	errs := make([]error, len(list))
	loop.SideBySide(len(list), func(i int) {
		r := list[i]
		if r.Node.Claim == nil || held[r.Node.Claim.Pool] != nil && r.CanWait(now) {
			return
		}
		if err := w.answer(ctx, r); err != nil && !loop.Overtaken(err) {
			errs[i] = fmt.Errorf("%s of NodeClaim %s: %w", r.Action, r.Node.Claim.Name, err)
		}
	})
	return errors.Join(errs...)
}
