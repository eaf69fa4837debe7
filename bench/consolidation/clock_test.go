package consolidation

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestALimitEndsByWorkAndNotByTheWall(t *testing.T) {
	c := newWorkClock(time.Now())
	outer, stop := c.limit(context.Background(), 50*time.Millisecond)
	defer stop()
	ctx, cancel := context.WithDeadline(outer, c.begun)
	defer cancel()
	if ctx.Err() != nil {
		t.Fatal("the wall's time ended it")
	}
	for begun := c.Now(); c.Since(begun) < 50*time.Millisecond; {
	}
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("it ended with %v", ctx.Err())
	}
}

func TestTheClockIsPutForwardAndNeverBack(t *testing.T) {
	begun := time.Now()
	c := newWorkClock(begun)
	c.set(begun.Add(time.Hour))
	if c.Since(begun) < time.Hour {
		t.Error("it was not put forward")
	}
	c.set(begun)
	if c.Since(begun) < time.Hour {
		t.Error("it was put back")
	}
}
