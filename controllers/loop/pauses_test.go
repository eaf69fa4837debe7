package loop

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A right that is missing, or an API server that refuses, for some seconds in which much happens.
func TestPausesGrowWithTheTimeOfFailureNotWithTheNumberOfEvents(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC))
	p := NewPauses(c, time.Second, time.Minute)
	of := reconcile.Request{NamespacedName: types.NamespacedName{Name: "c"}}
	wait := func(want time.Duration) {
		t.Helper()
		if got := p.When(of); got != want {
			t.Errorf("waits for %v, want %v", got, want)
		}
	}
	pass := func(d time.Duration) { c.SetTime(c.Now().Add(d)) }
	wait(time.Second)
	for range 20 {
		wait(time.Second)
	}
	pass(400 * time.Millisecond)
	wait(600 * time.Millisecond)
	pass(600 * time.Millisecond)
	if left := p.Left(of); left > 0 {
		t.Errorf("a pause that is over lasts %v more", left)
	}
	wait(2 * time.Second)
	if left := p.Left(of); left != 2*time.Second {
		t.Errorf("a pause that has just begun lasts %v more", left)
	}
	pass(2 * time.Second)
	wait(4 * time.Second)
	p.Forget(of)
	wait(time.Second)
}

func TestWhatFallsDueByTheClockIsRetriedWithinHalfAMinute(t *testing.T) {
	c := clocktesting.NewFakePassiveClock(time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC))
	limiter := NewPauses(c, time.Second, maxBackoff)
	var broken, other reconcile.Request
	broken.Name, other.Name = "broken", "other"
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
		got := limiter.When(broken)
		if got != want*time.Second {
			t.Errorf("retry %d comes after %s, want %d s", i+1, got, want)
		}
		c.SetTime(c.Now().Add(got))
	}
	if got := limiter.When(other); got != time.Second {
		t.Errorf("the first retry of another object comes after %s", got)
	}
	limiter.Forget(broken)
	if got := limiter.When(broken); got != time.Second {
		t.Errorf("the first retry after a success comes after %s", got)
	}
}
