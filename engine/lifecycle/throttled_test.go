package lifecycle_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestWhatIsNotedOfWaitsForATurn(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct{ before, reason, want string }{
		{"", "LaunchFailed", ""},
		{"", snapshot.RequestLimitExceeded, `{"since":"2026-01-02T12:00:00Z"}`},
		{`{"since":"2026-01-02T11:58:00Z"}`, snapshot.RequestLimitExceeded, `{"since":"2026-01-02T11:58:00Z"}`},
		{`{"since":"2026-01-02T11:58:00Z"}`, "LaunchFailed", `{"waited":"2m0s"}`},
		{`{"waited":"2m0s"}`, "LaunchFailed", `{"waited":"2m0s"}`},
		{`{"waited":"2m0s"}`, snapshot.RequestLimitExceeded, `{"since":"2026-01-02T12:00:00Z","waited":"2m0s"}`},
		{`{"since":"2026-01-02T11:00:00Z","waited":"2m0s"}`, "LaunchFailed", `{"waited":"1h2m0s"}`},
		{`{"since":"2026-01-02T12:05:00Z","waited":"-3h"}`, "LaunchFailed", `{"waited":"0s"}`}, // a clock was wrong
		{`{"since":17}`, "LaunchFailed", ""},
		{`garbage`, snapshot.RequestLimitExceeded, `{"since":"2026-01-02T12:00:00Z"}`},
		{`{"waited":"often"}`, snapshot.RequestLimitExceeded, `{"since":"2026-01-02T12:00:00Z","waited":"often"}`},
	} {
		c := &snapshot.Claim{Annotations: map[string]string{lifecycle.ThrottledAnnotation: test.before}}
		if got := lifecycle.Throttled(c, test.reason, now); got != test.want {
			t.Errorf("%s after %s: %s, want %s", test.reason, test.before, got, test.want)
		}
	}
}
