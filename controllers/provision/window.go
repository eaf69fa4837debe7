package provision

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// gaps is how many times the mean gap between arrivals none must have come for a burst to be
// over; shortest is the part of the idle time for which none must have come.
const (
	gaps     = 20
	shortest = 3
)

// window gathers pods. It opens with the first. If n have come in the time t between the
// first and the last, it closes when none has come for
//
//	min(idle, max(idle/3, 20·t/n))
//
// or max after it opened, whichever is first: a burst of hundreds a second is over when
// arrivals pause for a third of idle, two pods may be half of idle apart. It is safe for
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

// trigger reports whether it changed when the window closes. A UID that has triggered
// before does not prolong the window.
func (w *window) trigger(uid types.UID, now time.Time) bool {
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

// closes is when the window closes, zero if nothing has triggered it.
func (w *window) closes() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		return time.Time{}
	}
	at := w.last.Add(w.pause())
	if limit := w.opened.Add(w.max); limit.Before(at) {
		at = limit
	}
	return at
}

// pause is for how long none must come for the window to close. A single pod says nothing of
// a rate.
func (w *window) pause() time.Duration {
	if len(w.seen) < 2 {
		return w.idle
	}
	gap := w.last.Sub(w.opened) / time.Duration(len(w.seen)-1)
	return min(w.idle, max(w.idle/shortest, gaps*gap))
}

// close empties the window. Triggers from now on open the next one.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.seen)
}
