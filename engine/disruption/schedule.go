package disruption

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// opening is when a budget is open: always, or for a duration after each time of
// a cron schedule.
type opening struct {
	schedule cron.Schedule // nil for always
	duration time.Duration
}

// newOpening reads a budget's schedule: five cron fields or a macro, in UTC.
func newOpening(b snapshot.Budget) (opening, error) {
	if b.Schedule == "" {
		return opening{}, nil
	}
	// A time zone of the user's own would be a second prefix, which the parser
	// refuses: a budget is in UTC.
	schedule, err := cron.ParseStandard("TZ=UTC " + b.Schedule)
	if err != nil {
		return opening{}, fmt.Errorf("schedule %q: %w", b.Schedule, err)
	}
	return opening{schedule, b.Duration}, nil
}

// open reports whether the window is open: it last opened less than its duration
// ago. A schedule that never comes (30 February) is open, as it is in Karpenter,
// so that its budget holds rather than vanishes.
func (w opening) open(now time.Time) bool {
	return w.schedule == nil || !w.schedule.Next(now.UTC().Add(-w.duration)).After(now.UTC())
}

// closes is when the opening that holds now ends, zero if it has no end. Another
// opening may have begun by then.
func (w opening) closes(now time.Time) time.Time {
	if w.schedule == nil {
		return time.Time{}
	}
	opened := w.schedule.Next(now.UTC().Add(-w.duration))
	if opened.IsZero() {
		return time.Time{}
	}
	return opened.Add(w.duration)
}
