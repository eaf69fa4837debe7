package backoff_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func claim(name, template, machine string, change func(*snapshot.Claim)) *snapshot.Claim {
	c := &snapshot.Claim{
		Name: name, UID: types.UID(name), ProviderID: name,
		Annotations: map[string]string{backoff.TemplateAnnotation: template},
		Labels:      map[string]string{corev1.LabelInstanceTypeStable: machine, corev1.LabelTopologyZone: "a", catalog.CapacityTypeLabel: "spot"},
		Conditions:  map[string]snapshot.Condition{},
	}
	change(c)
	return c
}

func failed(after time.Duration) func(*snapshot.Claim) {
	return func(c *snapshot.Claim) {
		c.Deleted = noon.Add(after)
		c.Annotations[lifecycle.GivenUpAnnotation] = string(lifecycle.RegistrationTimedOut)
	}
}

func ready(after time.Duration) func(*snapshot.Claim) {
	return func(c *snapshot.Claim) {
		c.Conditions[snapshot.Initialized] = snapshot.Condition{Status: corev1.ConditionTrue, Since: noon.Add(after)}
	}
}

func describe(failures []snapshot.Failure) string {
	var out []string
	for _, f := range failures {
		what := f.Offering
		if what == "" {
			what = f.Template
		}
		out = append(out, fmt.Sprintf("%s×%d", what, f.Count))
	}
	return strings.Join(out, " ")
}

func TestFailuresAreCountedInARowByTemplateAndByOffering(t *testing.T) {
	const m = time.Minute
	var failures []snapshot.Failure
	var claims []*snapshot.Claim
	for i, step := range []struct {
		template, machine string
		how               func(*snapshot.Claim)
		want              string
	}{
		{"t1", "small", failed(1 * m), "t1×1 small/a/spot×1"},
		{"t1", "large", failed(2 * m), "t1×2 large/a/spot×1 small/a/spot×1"},
		{"t1", "small", failed(3 * m), "t1×3 small/a/spot×2 large/a/spot×1"},
		{"t1", "large", ready(4 * m), "small/a/spot×2"},
		{"t1", "small", func(c *snapshot.Claim) { c.Deleted = noon.Add(5 * m) }, "small/a/spot×2"}, // its user deleted it
		{"t1", "small", failed(6 * m), "t1×1 small/a/spot×3"},
		{"t0", "small", failed(7 * m), "t1×1 small/a/spot×3"}, // of a template that is no more
		{"t1", "", func(c *snapshot.Claim) {
			failed(8 * m)(c)
			c.ProviderID, c.Annotations[lifecycle.PlannedAnnotation] = "", "huge/b/on-demand" // never launched
		}, "t1×2 huge/b/on-demand×1 small/a/spot×3"},
	} {
		claims = append(claims, claim(fmt.Sprint("c", i), step.template, step.machine, step.how))
		failures = backoff.Count(failures, claims, "t1")
		if got := describe(failures); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
		if again := backoff.Count(failures, claims, "t1"); !reflect.DeepEqual(again, failures) {
			t.Errorf("step %d: counting twice gives %s", i, describe(again))
		}
	}
	if got := describe(backoff.Count(failures, nil, "t2")); got != "" {
		t.Errorf("with a new template: %s", got)
	}
}

func TestAPauseBeginsWithTheThirdFailureAndDoublesUpToAnHour(t *testing.T) {
	for count, want := range map[int]time.Duration{2: 0, 3: 2 * time.Minute, 4: 4 * time.Minute, 7: 32 * time.Minute, 8: time.Hour, 1000: time.Hour} {
		pauses := backoff.Pauses(&snapshot.Pool{Failures: []snapshot.Failure{{Template: "t", Count: count, Last: noon}}}, noon)
		got := time.Duration(0)
		if len(pauses) == 1 {
			got = pauses[0].Until.Sub(noon)
		}
		if got != want {
			t.Errorf("after %d failures the pause is %v, want %v", count, got, want)
		}
	}
}

func TestAPoolPausesThenIsOnTrialAndAnOfferingPausesAlone(t *testing.T) {
	types := []*catalog.Type{{Name: "small", Offerings: []catalog.Offering{
		{Zone: "a", CapacityType: "spot", Available: true}, {Zone: "b", CapacityType: "spot", Available: true},
	}}}
	p := &snapshot.Pool{Name: "web", Types: types, Failures: []snapshot.Failure{
		{Template: "t", Count: 3, Last: noon, Reason: "registration_timeout", Claim: "web-1"},
		{Offering: "small/a/spot", Count: 4, Last: noon, Reason: "registration_timeout", Claim: "web-1"},
	}}
	for after, want := range map[time.Duration]string{
		time.Minute:     "not ready: 3 machines in a row failed (registration_timeout, last nodeclaim/web-1); no other is launched before 2026-01-02T12:02:00Z; a false b true",
		3 * time.Minute: "on trial; a false b true",
		5 * time.Minute: "on trial; a true b true",
	} {
		got := ""
		now := backoff.Apply(p, nil, noon.Add(after))
		if now.NotReady != "" {
			got = "not ready: " + now.NotReady
		} else if now.OnTrial {
			got = "on trial"
		}
		o := now.Types[0].Offerings
		got += fmt.Sprintf("; a %v b %v", o[0].Available, o[1].Available)
		if got != want {
			t.Errorf("after %v: %s\nwant %s", after, got, want)
		}
	}
	if !types[0].Offerings[0].Available || p.NotReady != "" {
		t.Error("the pool that was passed in has changed")
	}
}

// A clock that was hours ahead does not keep a pool from launching until then; one that is a
// little ahead changes nothing.
func TestFailuresThatAreHoursAheadAreDropped(t *testing.T) {
	for ahead, left := range map[time.Duration]int{time.Minute: 1, 24 * time.Hour: 0} {
		p := &snapshot.Pool{Name: "main", Failures: []snapshot.Failure{{Template: "a", Count: 5, Last: noon.Add(ahead)}}}
		p.Failures = backoff.Recover(p, nil, noon)
		if pauses := backoff.Pauses(p, noon); len(pauses) != left {
			t.Errorf("%v ahead: the pool pauses %+v", ahead, pauses)
		}
	}
}
