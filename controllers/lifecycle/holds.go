package lifecycle

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/nomination"
)

// holdPoll is how soon to look again whether a Node that is ready still has to be kept from
// taking pods.
const holdPoll = 200 * time.Millisecond

// errNotHeld is that it is not known yet what keeps a Node that has just joined.
var errNotHeld = errors.New("whether the Node is kept from taking pods is not known yet")

// holds is what keeps Nodes that have joined from taking pods. Working that out takes a walk
// over all pods that wait, for one Node or for all, so the answer serves all claims for a
// while: for holdPoll, or ten times as long as it took. Safe for concurrent use.
//
// Nodes that open together do so at once: a pod whose own Node is still closed takes the room
// of others on one that is open.
type holds struct {
	mu    sync.Mutex
	until time.Time // when the answer is to be worked out again
	holds map[string]nomination.Hold
	// released has the claims whose Nodes are kept no longer.
	released chan event.TypedGenericEvent[*karpv1.NodeClaim]
}

func newHolds() *holds {
	return &holds{released: make(chan event.TypedGenericEvent[*karpv1.NodeClaim], workers)}
}

// of is the hold of a claim's Node, and how soon to ask again: not at once by all that are kept,
// as those that are kept no longer are released. False for a claim that is not known before then.
func (h *holds) of(c clock.PassiveClock, store *cluster.Store, claim string, node *corev1.Node) (hold nomination.Hold, again time.Duration, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := c.Now()
	before, known := h.holds[claim]
	if now.Before(h.until) {
		return before, h.again(), known
	}
	h.next(nomination.Holds(store.Snapshot(now, nil), claim, node))
	h.until = now.Add(max(holdPoll, 10*c.Since(now)))
	if hold := h.holds[claim]; !hold.Until.IsZero() || before.Until.IsZero() {
		return hold, h.again(), true
	}
	return before, h.again(), true // for this time: it opens with the others
}

// again has all claims together ask as often as a few alone.
func (h *holds) again() time.Duration { return holdPoll * time.Duration(1+len(h.holds)/8) }

// next takes new holds, and releases those that are kept no longer.
func (h *holds) next(holds map[string]nomination.Hold) {
	byFree := func(a, b string) int { return cmp.Or(cmp.Compare(holds[a].Free, holds[b].Free), cmp.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(holds), byFree) {
		if holds[name].Until.IsZero() && !h.holds[name].Until.IsZero() {
			h.release(name)
		}
	}
	h.holds = holds
}

// release has a claim served at once; if too many are to be, it asks again by itself.
func (h *holds) release(claim string) {
	select {
	case h.released <- event.TypedGenericEvent[*karpv1.NodeClaim]{Object: &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim}}}:
	default:
	}
}
