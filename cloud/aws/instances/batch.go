package instances

import (
	"context"
	"slices"
	"sync"
	"time"
)

// callTimeout bounds one call with all its retries.
const callTimeout = 2 * time.Minute

// batcher has one call under way at a time; what is asked for meanwhile goes into the next. It
// is safe for concurrent use.
type batcher[V any] struct {
	// window is how long the first question waits for others; most is how many IDs a call has.
	window time.Duration
	most   int
	// call answers for some IDs. What the answer lacks, it does not know.
	call func(ctx context.Context, ids []string) (map[string]V, error)

	mu     sync.Mutex
	rounds []*round[V]
	busy   bool
}

// round is one call. Its answer is set before done is closed.
type round[V any] struct {
	ids   []string
	done  chan struct{}
	found map[string]V
	err   error
}

// ask is the answer for one ID, and whether there is one.
func (b *batcher[V]) ask(ctx context.Context, id string) (V, bool, error) {
	r := b.join(ctx, id)
	select {
	case <-r.done:
		v, ok := r.found[id]
		return v, ok, r.err
	case <-ctx.Done():
		var none V
		return none, false, ctx.Err()
	}
}

// join puts an ID into the last round that has not begun.
func (b *batcher[V]) join(ctx context.Context, id string) *round[V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.rounds); n == 0 || len(b.rounds[n-1].ids) >= b.most {
		b.rounds = append(b.rounds, &round[V]{done: make(chan struct{})})
	}
	r := b.rounds[len(b.rounds)-1]
	if !slices.Contains(r.ids, id) {
		r.ids = append(r.ids, id)
	}
	if !b.busy {
		b.busy = true
		// The call is also of those who join, so it outlives the one who began it.
		go b.run(context.WithoutCancel(ctx))
	}
	return r
}

func (b *batcher[V]) run(ctx context.Context) {
	time.Sleep(b.window)
	for r := b.next(); r != nil; r = b.next() {
		called, cancel := context.WithTimeout(ctx, callTimeout)
		r.found, r.err = b.call(called, r.ids)
		cancel()
		close(r.done)
	}
}

// next takes the round that is called now; nil ends the run.
func (b *batcher[V]) next() *round[V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.rounds) == 0 {
		b.busy = false
		return nil
	}
	r := b.rounds[0]
	b.rounds = b.rounds[1:]
	return r
}
