package apply

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Event is something worth telling the owner of an object.
type Event struct {
	Object client.Object
	// Warning makes it a Warning, else it is Normal.
	Warning bool
	// Reason is one of Karpenter's; see reasons.go.
	Reason, Message string
	// Dedupe tells events of one object and reason apart; the message does not.
	Dedupe []string
	// Window is for how long the event is not repeated; zero is two minutes.
	Window time.Duration
}

const defaultWindow = 2 * time.Minute

// Event publishes an event unless the same one was published within its window.
func (w *Writer) Event(e Event) {
	window := e.Window
	if window == 0 {
		window = defaultWindow
	}
	if !w.recent.first(e.key(), window) {
		return
	}
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	w.recorder.Event(e.Object, kind, e.Reason, e.Message)
}

// First reports whether something is to be told for the first time within a window, by what tells
// it apart from all else.
func (w *Writer) First(what string, window time.Duration) bool {
	return w.recent.first("told\x00"+what, window)
}

// key tells events apart.
func (e Event) key() string {
	return strings.Join(append([]string{e.Reason, string(e.Object.GetUID()), e.Object.GetNamespace(), e.Object.GetName()}, e.Dedupe...), "\x00")
}

// recent remembers what happened until its window ends.
type recent struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[string]time.Time
	sweep time.Time
}

func newRecent(c clock.PassiveClock) *recent {
	return &recent{clock: c, until: map[string]time.Time{}}
}

// first reports whether something happens for the first time within its window.
func (r *recent) first(key string, window time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if now.Before(r.until[key]) {
		return false
	}
	r.forget(now)
	r.until[key] = now.Add(window)
	return true
}

// forget drops what has lapsed, at most once per default window.
func (r *recent) forget(now time.Time) {
	if now.Before(r.sweep) {
		return
	}
	for key, until := range r.until {
		if !now.Before(until) {
			delete(r.until, key)
		}
	}
	r.sweep = now.Add(defaultWindow)
}
