package interruption_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/window"
)

var (
	actions = []snapshot.InterruptionAction{
		snapshot.InterruptionIgnore, snapshot.InterruptionNotify, snapshot.InterruptionCordon, snapshot.InterruptionRestart, snapshot.InterruptionReplace, snapshot.InterruptionDrain, snapshot.InterruptionTerminate,
	}
	days  = []string{"*", "SUN", "MON,THU", "6"}
	zones = []string{"", "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "No/Where"}
)

func hours(t *rapid.T, name string, most int) time.Duration {
	return time.Duration(rapid.IntRange(0, most*60).Draw(t, name)) * time.Minute
}

// anyRule is a rule for every kind.
func anyRule(t *rapid.T) snapshot.InterruptionRule {
	r := snapshot.InterruptionRule{
		Action: rapid.SampledFrom(actions).Draw(t, "action"), Reserve: hours(t, "reserve", 48),
		LeaveIfTooLate: rapid.Bool().Draw(t, "leave"), OnlyConfirmed: rapid.Bool().Draw(t, "confirmed"), ForceAtDeadline: rapid.Bool().Draw(t, "force"),
	}
	for _, k := range interruption.Kinds() {
		r.Events = append(r.Events, string(k))
	}
	if rapid.Bool().Draw(t, "lead") {
		lead := hours(t, "lead time", 400)
		r.LeadTime = &lead
	}
	if rapid.Bool().Draw(t, "windowed") {
		r.Windows = []snapshot.Window{{
			Schedule: fmt.Sprintf("%d %d * * %s", rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour"), rapid.SampledFrom(days).Draw(t, "days")),
			Duration: hours(t, "open for", 24), TimeZone: rapid.SampledFrom(zones).Draw(t, "zone"),
		}}
	}
	return r
}

func anyEvent(t *rapid.T, id string) interruption.Event {
	e := interruption.Event{
		ID: id, Kind: rapid.SampledFrom(interruption.Kinds()[:9]).Draw(t, "kind"), Machine: "m",
		State: rapid.SampledFrom(interruption.States()).Draw(t, "state"), Confirmed: rapid.Bool().Draw(t, "is confirmed"),
	}
	if rapid.Bool().Draw(t, "has start") {
		e.NotBefore = start.Add(hours(t, "start", 400))
		e.Deadline = e.NotBefore.Add(hours(t, "deadline", 48))
	}
	return e
}

func TestWhatIsDueKeepsToTheRule(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		pool := &snapshot.Pool{Name: "p"}
		pool.Policy.Interruption.Rules = []snapshot.InterruptionRule{anyRule(t)}
		n := &snapshot.Node{
			Name: "n", Claim: &snapshot.Claim{Name: "n", Pool: "p", ProviderID: "m"},
			Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{snapshot.InitializedLabel: "true"}}},
		}
		s := &snapshot.Snapshot{Now: start.Add(hours(t, "now", 500)), Pools: []*snapshot.Pool{pool}, Nodes: []*snapshot.Node{n}}
		a, b := anyEvent(t, "a"), anyEvent(t, "b")
		d := interruption.Decide(s, []interruption.Event{a, b})
		if other := interruption.Decide(s, []interruption.Event{b, a}); d.String() != other.String() {
			t.Fatalf("the order of events matters:\n%s\n%s", d, other)
		}
		r := &pool.Policy.Interruption.Rules[0]
		for _, v := range d.Responses[0].Verdicts {
			keeps(t, s.Now, r, v)
		}
	})
}

// keeps checks one verdict against its rule.
func keeps(t *rapid.T, now time.Time, r *snapshot.InterruptionRule, v interruption.Verdict) {
	e := &v.Event
	acts := v.Due && r.Action != snapshot.InterruptionNotify
	last := e.End().Add(-r.Latest(string(e.Kind)))
	if r.LeadTime != nil && last.Before(e.NotBefore.Add(-*r.LeadTime)) {
		last = e.NotBefore.Add(-*r.LeadTime)
	}
	forbidden := e.Over() || r.Action == snapshot.InterruptionIgnore || r.OnlyConfirmed && !e.Confirmed && r.Action != snapshot.InterruptionNotify
	switch {
	case v.Action != r.Action:
		t.Fatalf("%s, and the rule says %s", v.Action, r.Action)
	case forbidden && v.Due:
		t.Fatalf("due, and it must not be: %s", v)
	case acts && r.LeadTime != nil && !e.NotBefore.IsZero() && now.Before(e.NotBefore.Add(-*r.LeadTime)):
		t.Fatalf("due before its lead time: %s", v)
	case !forbidden && !v.Due && !r.LeaveIfTooLate && !e.End().IsZero() && !now.Before(last):
		t.Fatalf("not due at the last moment: %s", v)
	case !v.Due && !v.Begins.IsZero() && !v.Begins.After(now):
		t.Fatalf("not due, and it began: %s", v)
	}
	if acts && len(r.Windows) > 0 && (e.End().IsZero() || now.Before(last)) {
		if opens, err := window.Opens(r.Windows, now); err != nil || !opens.Equal(now) {
			t.Fatalf("due outside of the window: %s", v)
		}
	}
}
