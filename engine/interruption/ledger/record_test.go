package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/ledger"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var now = time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC)

type event = interruption.Event

// maintenance is announced by a message so long ago.
func maintenance(id string, ago time.Duration) event {
	return event{
		ID: id, Kind: interruption.Maintenance, Code: interruption.Stop, Machine: "i-1", Source: "aws.health",
		NotBefore: now.Add(14 * 24 * time.Hour), Issued: now.Add(-ago),
	}
}

func with(e event, change func(*event)) event {
	change(&e)
	return e
}

func cancelled(e event) event {
	return with(e, func(e *event) { e.State = interruption.Cancelled })
}

func confirmed(e event) event {
	return with(e, func(e *event) { e.Confirmed, e.Source = true, "ec2" })
}

// show is a record in short.
func show(r ledger.Record) string {
	var out []string
	for _, e := range r {
		word := e.ID
		if e.State != "" {
			word += " " + string(e.State)
		}
		if e.Confirmed {
			word += " confirmed"
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

func TestWhatCountsDoesNotDependOnTheOrderOfMessages(t *testing.T) {
	first := maintenance("m", 3*time.Minute)
	later := with(maintenance("m", 2*time.Minute), func(e *event) { e.NotBefore = e.NotBefore.Add(24 * time.Hour) })
	off := cancelled(maintenance("m", time.Minute))
	spot := event{ID: "s", Kind: interruption.Spot, Issued: now, NotBefore: now.Add(2 * time.Minute)}
	rapid.Check(t, func(t *rapid.T) {
		heard := rapid.Permutation([]event{first, first, later, later, off, off, spot, spot}).Draw(t, "heard")
		var r ledger.Record
		changes := 0
		for _, e := range heard {
			next, changed := r.Add(e, now)
			if changed {
				changes++
			}
			r = ledger.Read(map[string]string{ledger.Annotation: next.Text()}, now) // a restart
		}
		if got := show(r); got != "m Cancelled, s" {
			t.Fatalf("on record: %s", got)
		}
		if changes > 4 {
			t.Fatalf("%d changes for four announcements", changes)
		}
	})
}

func TestTwoSourcesTellOfTheSameMaintenance(t *testing.T) {
	api := with(confirmed(maintenance("instance-event-1", 0)), func(e *event) { e.Issued = time.Time{} })
	for name, tt := range map[string]struct {
		heard []event
		want  string
	}{
		"message first":            {[]event{maintenance("arn", 0), api}, "arn confirmed"},
		"API first":                {[]event{api, maintenance("arn", 0)}, "instance-event-1 confirmed"},
		"another day":              {[]event{api, with(maintenance("arn", 0), func(e *event) { e.NotBefore = e.NotBefore.Add(24 * time.Hour) })}, "arn, instance-event-1 confirmed"},
		"another code":             {[]event{api, with(maintenance("arn", 0), func(e *event) { e.Code = interruption.Reboot })}, "arn, instance-event-1 confirmed"},
		"a code that says nothing": {[]event{api, with(maintenance("arn", 0), func(e *event) { e.Code = "" })}, "instance-event-1 confirmed"},
		"another kind":             {[]event{api, {ID: "r", Kind: interruption.Rebalance}}, "instance-event-1 confirmed, r"},
	} {
		var r ledger.Record
		for _, e := range tt.heard {
			r, _ = r.Add(e, now)
		}
		if got := show(r); got != tt.want {
			t.Errorf("%s: on record: %s, want %s", name, got, tt.want)
		}
	}
}

func TestAMessageCannotTakeBackWhatTheAPISays(t *testing.T) {
	r, _ := ledger.Record{}.Add(confirmed(maintenance("m", time.Minute)), now)
	for name, e := range map[string]event{
		"cancelled": cancelled(maintenance("m", 0)),
		"moved":     with(maintenance("m", 0), func(e *event) { e.NotBefore = e.NotBefore.Add(time.Hour) }),
		"replayed":  maintenance("m", time.Hour),
	} {
		if got, changed := r.Add(e, now); changed {
			t.Errorf("%s: on record: %s", name, show(got))
		}
	}
}

func TestWhatTheAPIListsNoLongerIsOver(t *testing.T) {
	r, _ := ledger.Record{}.Add(confirmed(maintenance("m", time.Minute)), now)
	r, _ = r.Add(event{ID: "s", Kind: interruption.Spot, Issued: now}, now)
	same, changed := r.Withdraw("ec2", []event{confirmed(maintenance("m", 0))}, now)
	if changed || show(same) != "m confirmed, s" {
		t.Errorf("still listed: %v, %s", changed, show(same))
	}
	if other, changed := r.Withdraw("other", nil, now); changed {
		t.Errorf("another source: %s", show(other))
	}
	r, changed = r.Withdraw("ec2", nil, now)
	if !changed || show(r) != "m Completed confirmed, s" {
		t.Errorf("not listed: %v, %s", changed, show(r))
	}
	if replayed, changed := r.Add(maintenance("m", time.Minute), now); changed {
		t.Errorf("a replay of what is over: %s", show(replayed))
	}
	if again, _ := r.Add(confirmed(maintenance("m", 0)), now); show(again) != "m confirmed, s" {
		t.Errorf("listed again: %s", show(again))
	}
}

func TestARecordIsBounded(t *testing.T) {
	var r ledger.Record
	r, _ = r.Add(confirmed(maintenance("real", time.Hour)), now)
	for i := range 1000 {
		e := maintenance(fmt.Sprintf("forged-%04d", i), 0)
		e.NotBefore = e.NotBefore.Add(time.Duration(2*i+2) * time.Hour)
		e.Text = strings.Repeat("ü", 1000)
		r, _ = r.Add(e, now)
	}
	if len(r) != ledger.Most || len(r.Text()) > 16_000 || !strings.Contains(show(r), "real confirmed") {
		t.Errorf("%d entries of %d bytes: %s", len(r), len(r.Text()), show(r))
	}
}

func TestWhatIsOverIsForgottenAfterADay(t *testing.T) {
	over := cancelled(maintenance("m", 0))
	spot := event{ID: "s", Kind: interruption.Spot, Issued: now, NotBefore: now.Add(2 * time.Minute)}
	stopped := event{ID: "t", Kind: interruption.Stopped, Issued: now}
	var r ledger.Record
	for _, e := range []event{over, spot, stopped} {
		r, _ = r.Add(e, now)
	}
	text := map[string]string{ledger.Annotation: r.Text()}
	if got := show(ledger.Read(text, now.Add(23*time.Hour))); got != "m Cancelled, s, t" {
		t.Errorf("a day later: %s", got)
	}
	if got := show(ledger.Read(text, now.Add(25*time.Hour))); got != "t" {
		t.Errorf("more than a day later: %s", got)
	}
}

func TestARecordIsAboutTheMachineOfItsClaimOnly(t *testing.T) {
	r, _ := ledger.Record{}.Add(event{ID: "s", Kind: interruption.Spot, Machine: "i-other", Issued: now}, now)
	claim := func(text string) *snapshot.Node {
		return &snapshot.Node{Claim: &snapshot.Claim{ProviderID: "aws:///a/i-1", Annotations: map[string]string{ledger.Annotation: text}}}
	}
	s := &snapshot.Snapshot{Now: now, Nodes: []*snapshot.Node{claim(r.Text()), claim("{"), claim(`[{"id":"x","kind":"Tornado"}]`), {}}}
	events := ledger.Events(s)
	if len(events) != 1 || events[0].Machine != "aws:///a/i-1" {
		t.Errorf("events: %+v", events)
	}
}
