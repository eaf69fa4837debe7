package loop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/controllers/loop"
)

func TestEveryGoesOnAfterAFailureAndEndsWithItsContext(t *testing.T) {
	start := time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakeClock(start)
	ctx, cancel := context.WithCancel(t.Context())
	steps, ended := make(chan time.Duration), make(chan error)
	go func() {
		ended <- loop.Deps{Clock: clock}.Every(ctx, 2*time.Second, 10*time.Second, "testing", func(context.Context) error {
			steps <- clock.Since(start)
			return errors.New("failed")
		})
	}()
	for _, want := range []time.Duration{2 * time.Second, 12 * time.Second, 22 * time.Second} {
		for !clock.HasWaiters() {
			time.Sleep(time.Millisecond) // the goroutine is about to wait
		}
		clock.Step(want - clock.Since(start) - time.Nanosecond)
		select {
		case at := <-steps:
			t.Fatalf("a step after %v, want %v", at, want)
		default:
		}
		clock.Step(time.Nanosecond)
		if at := <-steps; at != want {
			t.Errorf("a step after %v, want %v", at, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
