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
	for range receivers {
		work.Go(func() { f.receiveAll(ctx) })
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

// receiveAll takes one batch after the other. After a failure it waits, longer
// each time.
func (f *Feed) receiveAll(ctx context.Context) {
	wait := retryFirst
	for ctx.Err() == nil {
		err := f.Receive(ctx)
		if err == nil {
			wait = retryFirst
			continue
		}
		if ctx.Err() != nil {
			return
		}
		log.FromContext(ctx).Error(err, "reading the queue of interruptions", "again in", wait)
		select {
		case <-ctx.Done():
		case <-f.Clock.After(wait):
		}
		wait = min(2*wait, retryMost)
	}
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
