package termination

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// turns lets evictions under one budget come one after the other. The API server
// counts each on its PodDisruptionBudget: of several that come together all but one
// conflict, and every one of those tries again half a second later, until it times
// out. It is safe for concurrent use.
type turns struct {
	mu sync.Mutex
	of map[types.UID]*turn
}

// turn is one budget's.
type turn struct {
	taken chan struct{} // holds one while an eviction is under way
	users int           // who has it or waits for it
}

func newTurns() *turns { return &turns{of: map[types.UID]*turn{}} }

// take waits for a budget's turn, and returns what gives it back. The context's error
// is its own.
func (t *turns) take(ctx context.Context, budget types.UID) (func(), error) {
	t.mu.Lock()
	mine := t.of[budget]
	if mine == nil {
		mine = &turn{taken: make(chan struct{}, 1)}
		t.of[budget] = mine
	}
	mine.users++
	t.mu.Unlock()
	select {
	case mine.taken <- struct{}{}:
		return func() { <-mine.taken; t.leave(budget, mine) }, nil
	case <-ctx.Done():
		t.leave(budget, mine)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(budget types.UID, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.of, budget)
	}
}
