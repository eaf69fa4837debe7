package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/millwright-dev/millwright/engine/interruption"
)

func TestAnnouncementsAreMadeChangedAndTakenBack(t *testing.T) {
	client := fake.NewClientset()
	now := time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC)
	inject := func(a announcement, args ...string) string {
		t.Helper()
		change, err := a.change(args, now)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := announce(t.Context(), client, &out, change); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	m1 := announcement{event: interruption.Event{ID: "m1", Machine: "n"}, code: "Stop", in: 24 * time.Hour}
	for _, step := range []struct{ got, want string }{
		{inject(m1, "Maintenance"), `{"id":"m1","kind":"Maintenance","code":"Stop","machine":"n","notBefore":"2026-10-13T12:00:00Z"}`},
		{inject(announcement{event: interruption.Event{Machine: "o"}, deadline: 2 * time.Minute}, "SpotInterruption"),
			`{"id":"m1","kind":"Maintenance","code":"Stop","machine":"n","notBefore":"2026-10-13T12:00:00Z"}` + "\n" +
				`{"id":"SpotInterruption-o","kind":"SpotInterruption","machine":"o","deadline":"2026-10-12T12:02:00Z"}`},
		{inject(announcement{event: interruption.Event{ID: "SpotInterruption-o"}, injection: injection{clear: true}}),
			`{"id":"m1","kind":"Maintenance","code":"Stop","machine":"n","notBefore":"2026-10-13T12:00:00Z"}`},
		{inject(announcement{event: interruption.Event{ID: "m1", Machine: "n"}, state: "Cancelled"}, "Maintenance"),
			`{"id":"m1","kind":"Maintenance","machine":"n","state":"Cancelled"}`},
		{inject(announcement{injection: injection{clear: true}}), ""},
	} {
		if step.got != step.want {
			t.Errorf("stands\n%s\nwant\n%s", step.got, step.want)
		}
	}
	if _, err := m1.change([]string{"Tornado"}, now); err == nil || !strings.Contains(err.Error(), "kind") {
		t.Errorf("a kind that does not exist: %v", err)
	}
}
