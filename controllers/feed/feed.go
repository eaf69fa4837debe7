package feed

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
)

const (
	// receivers is how many batches of messages are in work at once.
	receivers = 8
	// confirmEvery is how often the cloud's API is asked about events that a policy
	// wants confirmed. A spot machine has two minutes.
	confirmEvery = 5 * time.Second
	// retryFirst and retryMost bound the wait after a queue that does not answer.
	retryFirst, retryMost = time.Second, time.Minute
)

const name = "interruption.feed"

// Feed follows the sources of announcements. It is safe for concurrent use.
type Feed struct{ loop.Deps }

// New makes a Feed.
func New(d loop.Deps) *Feed { return &Feed{d} }

// Add registers the loops, on the leader, for the sources that there are.
func Add(mgr manager.Manager, d loop.Deps) error {
	f := New(d)
	if d.Announcements.Queue != nil {
		if err := mgr.Add(manager.RunnableFunc(f.followQueue)); err != nil {
			return err
		}
	}
	if d.Announcements.Inspector == nil {
		return nil
	}
	for _, l := range []struct {
		interval time.Duration
		doing    string
		step     func(context.Context) error
	}{
		{d.Announcements.Every, "asking the cloud what it has announced", f.Inspect},
		{confirmEvery, "asking the cloud to confirm announcements", f.Confirm},
	} {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			f.awaitStore(ctx)
			return f.Every(metrics.WithController(ctx, name), 0, l.interval, l.doing, l.step)
		})); err != nil {
			return err
		}
	}
	return nil
}

// followQueue receives until the context ends.
func (f *Feed) followQueue(ctx context.Context) error {
	f.awaitStore(ctx)
	ctx = metrics.WithController(ctx, name)
	var work sync.WaitGroup
	var queue rest
	for range receivers {
		work.Go(func() { f.receiveAll(ctx, &queue) })
	}
	work.Wait()
	return nil
}

// awaitStore waits until every claim is known, or the context ends: before that a
// machine of ours looks like a stranger.
func (f *Feed) awaitStore(ctx context.Context) {
	for !f.Store.Synced() && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-f.Clock.After(loop.Soon):
		}
	}
}

// receiveAll takes one batch after the other. After a failure it waits, longer each time; the
// queue is the same for all receivers, and so is the wait.
func (f *Feed) receiveAll(ctx context.Context, queue *rest) {
	for ctx.Err() == nil {
		began := f.Clock.Now()
		err := f.Receive(ctx)
		if ctx.Err() != nil {
			return
		}
		wait, news := queue.after(began, err, f.Clock.Now())
		if news {
			log.FromContext(ctx).Error(err, "reading the queue of interruptions", "again in", wait)
		}
		if wait > 0 {
			select {
			case <-ctx.Done():
			case <-f.Clock.After(wait):
			}
		}
	}
}

// rest is for how long the queue is left alone. It is safe for concurrent use.
type rest struct {
	mu    sync.Mutex
	until time.Time
	last  time.Duration
}

// after is how long to wait after an attempt, and whether its failure is news: an attempt that
// was under way when another one failed says nothing that is not known, whatever came of it.
func (r *rest) after(began time.Time, err error, now time.Time) (wait time.Duration, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case began.Before(r.until):
		return max(0, r.until.Sub(now)), false
	case err == nil:
		r.last, r.until = 0, time.Time{}
		return 0, false
	}
	r.last = min(max(2*r.last, retryFirst), retryMost)
	r.until = now.Add(r.last)
	return r.last, true
}

// Receive takes one batch of messages.
func (f *Feed) Receive(ctx context.Context) error {
	queue := f.Announcements.Queue
	messages, err := queue.Receive(ctx)
	if err != nil {
		f.Metrics.FeedFailed("receive")
		return err
	}
	now := f.Clock.Now()
	f.Metrics.QueueRead(now, messages)
	if len(messages) == 0 {
		return nil
	}
	f.take(ctx, messages)
	for i := range messages {
		m := &messages[i]
		f.Metrics.MessageTaken(m, now)
		if m.Why != "" && !m.RefusedBefore() {
			log.FromContext(ctx).Info("a message of the queue does not count", "reason", m.Refusal, "why", m.Why, "sent", m.Sent)
		}
	}
	if err := queue.Settle(ctx, messages); err != nil {
		f.Metrics.FeedFailed("settle")
		return err
	}
	return nil
}
