// Package window says when times that come again are open.
//
//	windows, a moment ──► Opens ──► the first moment from then on at which one is open
//
// A [snapshot.Window] opens at the times of a cron schedule and stays open for a
// duration, both by the wall clock of its zone. In the night in which summer time
// ends, a window from 02:00 for two hours is three hours long, and one that lies in
// the hour that comes twice opens twice; when it begins, the hour that does not exist
// is missing, and a window that lies in it altogether does not open that day.
package window

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a window must mean the same in an image without zone files

	"github.com/robfig/cron/v3"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Opens is the first moment from a time on at which one of the windows is open:
// the time itself if one is open then, zero if there are none. Windows that cannot
// be read, or that never come, do not open; if all are so, the error says why.
func Opens(list []snapshot.Window, from time.Time) (time.Time, error) {
	var soonest time.Time
	var errs []error
	for _, w := range list {
		at, err := opens(w, from)
		switch {
		case err != nil:
			errs = append(errs, err)
		case soonest.IsZero() || at.Before(soonest):
			soonest = at
		}
	}
	if len(errs) < len(list) {
		return soonest, nil
	}
	return time.Time{}, errors.Join(errs...)
}

// Error is why a window never opens.
type Error struct {
	// Field is the one that is wrong, by its name in a NodePolicy: schedule, duration or
	// timeZone.
	Field string
	Why   string
}

func (e *Error) Error() string { return e.Why }

// Check says why a window never opens, as an [*Error]; nil if it does.
func Check(w snapshot.Window) error {
	_, _, err := read(w)
	return err
}

// read makes a schedule that runs on the wall clock, as if that were UTC, and finds the
// zone.
func read(w snapshot.Window) (cron.Schedule, *time.Location, error) {
	loc, err := time.LoadLocation(w.TimeZone)
	if err != nil || loc == time.Local {
		return nil, nil, &Error{"timeZone", fmt.Sprintf("time zone %q is not known", w.TimeZone)}
	}
	schedule, err := cron.ParseStandard("TZ=UTC " + w.Schedule)
	switch {
	case err != nil:
		return nil, nil, &Error{"schedule", fmt.Sprintf("schedule %q: %v", w.Schedule, err)}
	case schedule.Next(time.Unix(0, 0).UTC()).IsZero():
		return nil, nil, &Error{"schedule", fmt.Sprintf("schedule %q never comes", w.Schedule)}
	case w.Duration <= 0:
		return nil, nil, &Error{"duration", fmt.Sprintf("a window of %s does not open", w.Duration)}
	}
	return schedule, loc, nil
}

func opens(w snapshot.Window, from time.Time) (time.Time, error) {
	schedule, loc, err := read(w)
	if err != nil {
		return time.Time{}, err
	}
	for {
		local := from.In(loc)
		_, offset := local.Zone()
		shown := from.UTC().Add(time.Duration(offset) * time.Second)
		at := schedule.Next(shown.Add(-w.Duration)) // as if shown in UTC
		switch {
		case at.IsZero():
			return time.Time{}, &Error{"schedule", fmt.Sprintf("schedule %q does not come again", w.Schedule)}
		case !at.After(shown):
			return from, nil
		}
		opens := from.Add(at.Sub(shown))
		if _, change := local.ZoneBounds(); !change.IsZero() && change.Before(opens) {
			opens = change // from then on the clock shows another time
		}
		from = opens
	}
}

// Describe words windows: "0 2 * * SUN for 2h0m0s Europe/Berlin".
func Describe(list []snapshot.Window) string {
	out := make([]string, len(list))
	for i, w := range list {
		zone := w.TimeZone
		if zone == "" {
			zone = "UTC"
		}
		out[i] = fmt.Sprintf("%s for %s %s", w.Schedule, w.Duration, zone)
	}
	return strings.Join(out, ", or ")
}
