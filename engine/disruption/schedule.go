package disruption

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// window is when a budget is open: always, or for a duration after each time of
// a cron schedule.
type window struct {
	schedule cron.Schedule // nil for always
	duration time.Duration
}

// newWindow reads a budget's schedule: five cron fields or a macro, in UTC.
func newWindow(b snapshot.Budget) (window, error) {
	if b.Schedule == "" {
		return window{}, nil
	}
	// A time zone of the user's own would be a second prefix, which the parser
	// refuses: a budget is in UTC.
	schedule, err := cron.ParseStandard("TZ=UTC " + b.Schedule)
	if err != nil {
		return window{}, fmt.Errorf("schedule %q: %w", b.Schedule, err)
	}
	return window{schedule, b.Duration}, nil
}

// open reports whether the window is open: it last opened less than its duration
// ago. A schedule that never comes (30 February) is open, as it is in Karpenter,
// so that its budget holds rather than vanishes.
func (w window) open(now time.Time) bool {
	return w.schedule == nil || !w.schedule.Next(now.UTC().Add(-w.duration)).After(now.UTC())
}

// closes is when the opening that holds now ends, zero if it has no end. Another
// opening may have begun by then.
func (w window) closes(now time.Time) time.Time {
	if w.schedule == nil {
		return time.Time{}
	}
	opened := w.schedule.Next(now.UTC().Add(-w.duration))
	if opened.IsZero() {
		return time.Time{}
	}
	return opened.Add(w.duration)
}
