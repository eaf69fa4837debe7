package window_test

import (
	"errors"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/window"
)

func TestAWindowGoesByTheWallClockOfItsZone(t *testing.T) {
	night := snapshot.Window{Schedule: "0 2 * * SUN", Duration: 2 * time.Hour, TimeZone: "Europe/Berlin"}
	sliver := snapshot.Window{Schedule: "15 2 * * SUN", Duration: 30 * time.Minute, TimeZone: "Europe/Berlin"}
	early := snapshot.Window{Schedule: "30 1 * * *", Duration: time.Hour, TimeZone: "Europe/Berlin"}
	daily := snapshot.Window{Schedule: "@daily", Duration: time.Hour}
	for _, tt := range []struct {
		name, from, want string
		list             []snapshot.Window
	}{
		{"none is always shut", "2026-10-12T12:00:00Z", "0001-01-01T00:00:00Z", nil},
		{"it opens", "2026-10-12T12:00:00Z", "2026-10-18T00:00:00Z", []snapshot.Window{night}},
		{"it is open", "2026-10-18T01:59:59Z", "2026-10-18T01:59:59Z", []snapshot.Window{night}},
		{"it has closed", "2026-10-18T02:00:00Z", "2026-10-25T00:00:00Z", []snapshot.Window{night}},
		{"it is an hour longer when summer time ends", "2026-10-25T02:59:59Z", "2026-10-25T02:59:59Z", []snapshot.Window{night}},
		{"and not more", "2026-10-25T03:00:00Z", "2026-11-01T01:00:00Z", []snapshot.Window{night}},
		{"one in the hour that comes twice closes in between", "2026-10-25T00:45:00Z", "2026-10-25T01:15:00Z", []snapshot.Window{sliver}},
		{"and opens again", "2026-10-25T01:44:59Z", "2026-10-25T01:44:59Z", []snapshot.Window{sliver}},
		{"and not a third time", "2026-10-25T01:45:00Z", "2026-11-01T01:15:00Z", []snapshot.Window{sliver}},
		{"one that ends in that hour comes back with it", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", []snapshot.Window{early}},
		{"it is an hour shorter when summer time begins", "2027-03-28T00:59:59Z", "2027-03-28T01:00:00Z", []snapshot.Window{night}},
		{"and not less", "2027-03-28T02:00:00Z", "2027-04-04T00:00:00Z", []snapshot.Window{night}},
		{"one in the hour that is skipped does not open", "2027-03-28T00:00:00Z", "2027-04-04T00:15:00Z", []snapshot.Window{sliver}},
		{"the first of several counts", "2026-10-12T12:00:00Z", "2026-10-13T00:00:00Z", []snapshot.Window{night, daily}},
		{"one that cannot be read does not open", "2026-10-12T12:00:00Z", "2026-10-18T00:00:00Z", []snapshot.Window{{Schedule: "never", Duration: 1}, night}},
	} {
		from, _ := time.Parse(time.RFC3339, tt.from)
		if at, err := window.Opens(tt.list, from); err != nil || at.UTC().Format(time.RFC3339) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, at.UTC().Format(time.RFC3339), err, tt.want)
		}
	}
}

func TestAWindowThatCannotOpenSaysWhy(t *testing.T) {
	for want, w := range map[string]snapshot.Window{
		`schedule: schedule "never": expected exactly 5 fields, found 1: [never]`:                     {Schedule: "never", Duration: time.Hour},
		`schedule: schedule "0 30-10 * * *": beginning of range (30) beyond end of range (10): 30-10`: {Schedule: "0 30-10 * * *", Duration: time.Hour},
		`schedule: schedule "0 0 30 2 *" never comes`:                                                 {Schedule: "0 0 30 2 *", Duration: time.Hour},
		`duration: a window of 0s does not open`:                                                      {Schedule: "@daily"},
		`timeZone: time zone "Europe/Atlantis" is not known`:                                          {Schedule: "@daily", Duration: time.Hour, TimeZone: "Europe/Atlantis"},
		`timeZone: time zone "Local" is not known`:                                                    {Schedule: "@daily", Duration: time.Hour, TimeZone: "Local"},
	} {
		var fault *window.Error
		if err := window.Check(w); !errors.As(err, &fault) || fault.Field+": "+fault.Why != want {
			t.Errorf("%v: %v, want %s", w, err, want)
		}
		if at, err := window.Opens([]snapshot.Window{w}, time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC)); err == nil {
			t.Errorf("%v opens at %v", w, at)
		}
	}
	if err := window.Check(snapshot.Window{Schedule: "0 0 29 2 *", Duration: time.Hour, TimeZone: "CET"}); err != nil {
		t.Errorf("a leap day: %v", err)
	}
}
