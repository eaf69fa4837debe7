package loop_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/controllers/loop"
)

func TestAtFiresWhenTheTimeHasCome(t *testing.T) {
	now := time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		at    time.Time
		after time.Duration
		want  bool
	}{
		"a moment before":         {now.Add(time.Second), time.Second - 1, false},
		"then":                    {now.Add(time.Second), time.Second, true},
		"at once, if it is past":  {now.Add(-time.Second), 0, true},
		"for the zero time never": {time.Time{}, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(now)
			fires, stop := loop.Deps{Clock: clock}.At(row.at)
			clock.Step(row.after)
			select {
			case <-fires:
				if !row.want {
					t.Error("it fires")
				}
			default:
				if row.want {
					t.Error("it does not fire")
				}
			}
			stop()
			if clock.HasWaiters() {
				t.Error("the timer goes on after it was stopped")
			}
		})
	}
}
