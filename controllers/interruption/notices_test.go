package interruption

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/controllers/notify"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// hook is a receiver of notifications.
type hook struct {
	*httptest.Server
	broken bool
	// said are the types and subjects of what came, ids their IDs.
	said, ids []string
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event struct{ ID, Type, Subject string }
		if h.broken || json.NewDecoder(r.Body).Decode(&event) != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		h.said, h.ids = append(h.said, event.Type+" "+event.Subject), append(h.ids, event.ID)
	}))
	t.Cleanup(h.Close)
	return h
}

// tell looks, as a process of its own if it restarted before, and sends.
func (w *world) tell(h *hook, look *Watcher) error {
	w.Helper()
	w.Sync()
	if _, err := look.Look(ctx); err != nil {
		w.Fatal(err)
	}
	w.Sync()
	if _, err := look.Look(ctx); err != nil { // with what the first has written
		w.Fatal(err)
	}
	return look.teller.send(ctx)
}

// watcher is one of a process that has just begun.
func (w *world) watcher(h *hook) *Watcher {
	w.Helper()
	w.Restart()
	var err error
	w.Webhook, err = notify.New(h.URL, notify.CloudEvents, "test")
	w.Must(err)
	return New(w.Deps, &w.said)
}

func TestWhatWaitsForPeopleIsToldOnceAlsoAcrossRestartsAndAWebhookThatIsDown(t *testing.T) {
	h := newHook(t)
	w := newWorld(t, approved("Drain"))
	w.announce(about(interruption.Maintenance, 24*time.Hour))
	h.broken = true
	if err := w.tell(h, w.watcher(h)); err == nil || len(h.said) > 0 {
		t.Fatalf("said %q, error %v", h.said, err)
	}
	w.Clock.Step(time.Hour) // people are told however late
	h.broken = false
	for range 3 {
		w.Must(w.tell(h, w.watcher(h)))
	}
	name := w.requests()[0].Name
	w.decide(v1alpha1.Approve)
	look := w.watcher(h)
	for range 3 {
		w.Must(w.tell(h, look))
	}
	want := []string{"proposed", "done"}
	if len(h.said) == 3 {
		want = []string{"proposed", "approved", "done"}
	}
	for i, phase := range want {
		if i >= len(h.said) || h.said[i] != "dev.millwright.disruptionrequest."+phase+" disruptionrequest/"+name {
			t.Fatalf("said %q, want one each of %q", h.said, want)
		}
	}
	if len(h.said) != len(want) {
		t.Errorf("said %q, want one each of %q", h.said, want)
	}
}

func TestAnEventThatComesBackIsToldUnderAnIDOfItsOwn(t *testing.T) {
	h := newHook(t)
	w := newWorld(t, approved("Drain"))
	look := w.watcher(h)
	for _, state := range []interruption.State{interruption.Announced, interruption.Cancelled, interruption.Changed} {
		e := about(interruption.Maintenance, 24*time.Hour)
		e.State = state
		w.announce(e)
		w.Must(w.tell(h, look))
		w.Clock.Step(time.Minute)
	}
	if len(h.said) != 3 || h.said[2] != h.said[0] || h.ids[2] == h.ids[0] {
		t.Errorf("said %q with the IDs %q", h.said, h.ids)
	}
}

func TestWhatARuleDoesIsToldAndWhatTheTableDoesIsNot(t *testing.T) {
	for _, c := range []struct {
		rule v1alpha1.InterruptionRule
		want string
	}{
		{rule("Drain", "Maintenance"), "dev.millwright.interruption.drain nodeclaim/c"},
		{rule("Cordon", "Maintenance"), "dev.millwright.interruption.cordon nodeclaim/c"},
		{rule("Replace", "Maintenance"), "dev.millwright.interruption.replace nodeclaim/c"},
		{rule("Notify", "Maintenance"), ""},
		{rule("Drain", "SpotInterruption"), ""}, // maintenance is for Karpenter's table
	} {
		h := newHook(t)
		w := newWorld(t, c.rule)
		w.announce(about(interruption.Maintenance, 24*time.Hour))
		look := w.watcher(h)
		for range 3 {
			w.Must(w.tell(h, look))
		}
		if got := strings.Join(h.said, ", "); got != c.want {
			t.Errorf("%s of %v: said %q, want %q", c.rule.Action, c.rule.Events, got, c.want)
		}
	}
}
