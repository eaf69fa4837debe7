package feed

import (
	"errors"
	"testing"
	"time"
)

// Several receivers fail at once when the queue does.
func TestAFailureOfTheQueueIsOneForAllReceivers(t *testing.T) {
	broken := errors.New("broken")
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var queue rest
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		for n := range receivers {
			got, news := queue.after(now, broken, now.Add(time.Duration(n)*time.Millisecond))
			if want := wait*time.Second - time.Duration(n)*time.Millisecond; got != want || news != (n == 0) {
				t.Fatalf("receiver %d waits %v, want %v; news: %v", n, got, want, news)
			}
		}
		now = now.Add(wait * time.Second)
	}
	// A long poll that began before the queue broke ends in peace.
	if wait, news := queue.after(now.Add(-time.Second), nil, now); wait != 0 || news {
		t.Errorf("after an old poll it waits %v, news: %v", wait, news)
	}
	if wait, _ := queue.after(now, broken, now); wait != retryMost {
		t.Errorf("after an old poll's end and a failure it waits %v", wait)
	}
	now = now.Add(retryMost)
	if wait, news := queue.after(now, nil, now); wait != 0 || news {
		t.Errorf("after a success it waits %v, news: %v", wait, news)
	}
	if wait, news := queue.after(now, broken, now); wait != retryFirst || !news {
		t.Errorf("after the next failure it waits %v, news: %v", wait, news)
	}
}
