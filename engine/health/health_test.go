package health_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/health"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestAPoolIsUnhealthyWhenHalfOfItsLastFourLaunchesFailed(t *testing.T) {
	for launches, want := range map[string]bool{"+": true, "-": true, "--": false, "-+-": false, "--+++": true, "+++-": true, "++--": false, "----++++": true} {
		var r health.Ring
		for _, l := range launches {
			r.Push(l == '-')
		}
		if got := r.Healthy(); got != want || r.Empty() {
			t.Errorf("%s: healthy %v, want %v", launches, got, want)
		}
	}
	if !health.Seeded(true).Healthy() || health.Seeded(false).Healthy() || !new(health.Ring).Empty() {
		t.Error("a ring does not keep the verdict that it begins with")
	}
}

func TestALaunchEndsWithRegistrationOrWhenItIsGivenUp(t *testing.T) {
	is := func(names ...string) map[string]snapshot.Condition {
		out := map[string]snapshot.Condition{}
		for _, n := range names {
			out[n] = snapshot.Condition{Status: corev1.ConditionTrue, Since: noon}
		}
		return out
	}
	givenUp := map[string]string{lifecycle.GivenUpAnnotation: string(lifecycle.RegistrationTimedOut)}
	for name, tc := range map[string]struct {
		claim         snapshot.Claim
		failed, ended bool
	}{
		"under way":           {snapshot.Claim{Conditions: is("Launched")}, false, false},
		"registered":          {snapshot.Claim{Conditions: is("Launched", "Registered")}, false, true},
		"given up":            {snapshot.Claim{Created: noon, Deleted: noon.Add(time.Second), Annotations: givenUp}, true, true},
		"given up long ago":   {snapshot.Claim{Deleted: noon.Add(-time.Second), Annotations: givenUp}, false, false},
		"deleted by its user": {snapshot.Claim{Created: noon, Deleted: noon.Add(4 * time.Minute)}, true, false},
		"never launched":      {snapshot.Claim{Created: noon, Deleted: noon.Add(5 * time.Minute)}, true, true},
		"launched, waiting":   {snapshot.Claim{Created: noon, Deleted: noon.Add(5 * time.Minute), Conditions: is("Launched")}, true, false},
		"never registered":    {snapshot.Claim{Created: noon, Deleted: noon.Add(15 * time.Minute), Conditions: is("Launched")}, true, true},
	} {
		failed, ended := health.Outcome(&tc.claim, noon.Add(500*time.Millisecond))
		if ended != tc.ended || ended && failed != tc.failed {
			t.Errorf("%s: failed %v, ended %v", name, failed, ended)
		}
	}
}
