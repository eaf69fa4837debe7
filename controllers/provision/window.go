package provision

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// window gathers pokes. It opens at the first, and closes when nobody new has
// poked for idle, or max after it opened, whichever is first. It is safe for
// concurrent use and knows no clock of its own.
type window struct {
	idle, max time.Duration

	mu     sync.Mutex
	seen   map[types.UID]struct{}
	opened time.Time
	last   time.Time
}

func newWindow(idle, longest time.Duration) *window {
	return &window{idle: idle, max: longest, seen: map[types.UID]struct{}{}}
}

// poke reports whether it changed when the window closes. A UID that has poked
// before does not prolong the window.
func (w *window) poke(uid types.UID, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, again := w.seen[uid]; again {
		return false
	}
	if len(w.seen) == 0 {
		w.opened = now
	}
	w.seen[uid] = struct{}{}
	w.last = now
	return true
}

// closes is when the window closes, zero if nobody has poked.
func (w *window) closes() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		return time.Time{}
	}
	at := w.last.Add(w.idle)
	if limit := w.opened.Add(w.max); limit.Before(at) {
		at = limit
	}
	return at
}

// close empties the window. Pokes from now on open the next one.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.seen)
}
