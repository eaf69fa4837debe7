package interruption

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a window must mean the same in an image without zone files

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// day is a day of the calendar by the clock of a zone without summer time.
const day = 24 * time.Hour

// Opens is the first moment from a time on at which a window is open: the time
// itself if it is open then. The error is about the zone's name.
func Opens(w *snapshot.WeeklyWindow, from time.Time) (time.Time, error) {
	loc, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		return time.Time{}, fmt.Errorf("time zone %q is not known", w.TimeZone)
	}
	y, m, d := from.In(loc).Date()
	for i := -1; ; i++ { // a window of yesterday may still be open
		date := time.Date(y, m, d+i, 0, 0, 0, 0, time.UTC)
		if len(w.Days) > 0 && !slices.Contains(w.Days, date.Weekday()) {
			continue
		}
		to := w.To
		if to <= w.From {
			to += day
		}
		opens, closes := first(wall(date.Add(w.From), loc)), last(wall(date.Add(to), loc))
		switch {
		case !from.Before(closes) || !opens.Before(closes):
			// over, or swallowed by the hour that summer time skips
		case opens.Before(from):
			return from, nil
		default:
			return opens, nil
		}
	}
}

func first(list []time.Time) time.Time { return slices.MinFunc(list, time.Time.Compare) }
func last(list []time.Time) time.Time  { return slices.MaxFunc(list, time.Time.Compare) }

// wall lists the moments at which a clock in a zone shows a time: one as a rule,
// two in the hour that comes twice, and in the hour that is skipped the moment of
// the change. The time is given as if it were UTC.
func wall(shown time.Time, loc *time.Location) []time.Time {
	var out []time.Time
	for _, near := range []time.Time{shown.Add(-day), shown.Add(day)} {
		_, offset := near.In(loc).Zone()
		at := shown.Add(-time.Duration(offset) * time.Second)
		if _, actual := at.In(loc).Zone(); actual == offset {
			out = append(out, at)
		}
	}
	if out == nil {
		_, change := shown.Add(-day).In(loc).ZoneBounds()
		out = append(out, change)
	}
	return out
}

// describe words a window: "Sun 02:00-04:00 Europe/Berlin".
func describe(w *snapshot.WeeklyWindow) string {
	days := make([]string, len(w.Days))
	for i, d := range w.Days {
		days[i] = d.String()[:3]
	}
	zone := w.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s-%s %s", strings.Join(days, ","), clock(w.From), clock(w.To), zone))
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60)
}
