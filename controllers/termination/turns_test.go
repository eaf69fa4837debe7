package termination

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestEvictionsUnderOneBudgetComeOneAfterTheOther(t *testing.T) {
	turns := newTurns()
	var under [2]atomic.Int32
	var most atomic.Int32
	var work sync.WaitGroup
	for i := range 200 {
		work.Go(func() {
			done, err := turns.take(t.Context(), []types.UID{"one", "two"}[i%2])
			if err != nil {
				t.Error(err)
				return
			}
			if n := under[i%2].Add(1); n > most.Load() {
				most.Store(n)
			}
			under[i%2].Add(-1)
			done()
		})
	}
	work.Wait()
	if most.Load() != 1 || len(turns.of) != 0 {
		t.Errorf("%d at once; %d budgets are remembered", most.Load(), len(turns.of))
	}
}

func TestWhoGivesUpWaitingForATurnLeavesNothingBehind(t *testing.T) {
	turns := newTurns()
	done, err := turns.take(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.take(cut, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
	other, err := turns.take(t.Context(), "two")
	if err != nil {
		t.Fatal(err)
	}
	other()
	done()
	if len(turns.of) != 0 {
		t.Errorf("%d budgets are remembered", len(turns.of))
	}
}
