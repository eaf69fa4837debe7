package consolidation

import (
	"context"
	"runtime"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/bench/measure"
)

// workClock is at a time of a simulation, and goes on from there by what the process has
// worked since: its CPU time over GOMAXPROCS, which is the least that could have passed on
// an idle machine. A search that is bounded by this clock gets as far however busy the
// machine is, and at least as far as by the clock on the wall of an idle one.
type workClock struct {
	clock.RealClock
	begun  time.Time
	before time.Duration
}

func newWorkClock(now time.Time) *workClock { return &workClock{begun: now, before: measure.CPU()} }

// set puts the clock forward to a time, unless it is later already.
func (c *workClock) set(now time.Time) {
	if now.After(c.Now()) {
		c.begun, c.before = now, measure.CPU()
	}
}

// Now is the time.
func (c *workClock) Now() time.Time {
	return c.begun.Add((measure.CPU() - c.before) / time.Duration(runtime.GOMAXPROCS(0)))
}

// Since is how long ago a time was.
func (c *workClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// glance is how often a limit is compared with the clock.
const glance = 20 * time.Millisecond

// limit is a context whose deadline is so much later by this clock, and which stop
// ends. The clock must not be set before that. It says that its deadline is over already, so that no context made of it sets
// one by the wall: those end when this one does.
func (c *workClock) limit(ctx context.Context, d time.Duration) (l context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := &limited{Context: ctx, done: make(chan struct{})}
	end := c.Now().Add(d)
	go func() {
		tick := time.NewTicker(glance)
		defer tick.Stop()
		defer close(out.done)
		for c.Now().Before(end) {
			select {
			case <-ctx.Done():
				out.err = ctx.Err()
				return
			case <-tick.C:
			}
		}
		out.err = context.DeadlineExceeded
	}()
	return out, func() {
		cancel()
		<-out.done
	}
}

// limited is a context with an end of its own.
type limited struct {
	context.Context
	done chan struct{}
	err  error // set before done is closed
}

// Deadline is one that others do not undercut.
func (*limited) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }

// Done is closed at the end.
func (l *limited) Done() <-chan struct{} { return l.done }

// Err is DeadlineExceeded at the deadline.
func (l *limited) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}
