package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/nomination"
)

// holds is what keeps Nodes that have joined from taking pods. Working that out takes a walk
// over all pods that wait, for one Node or for all, so the answer serves all claims until
// they ask again. Safe for concurrent use.
//
// Nodes that open together do so at once: a pod whose own Node is still closed takes the room
// of others on one that is open.
type holds struct {
	mu    sync.Mutex
	at    time.Time
	holds map[string]nomination.Hold
	// released has the claims whose Nodes are kept no longer.
	released chan event.TypedGenericEvent[*karpv1.NodeClaim]
}

func newHolds() *holds {
	return &holds{released: make(chan event.TypedGenericEvent[*karpv1.NodeClaim], workers)}
}

// of is the hold of a claim's Node.
func (h *holds) of(now time.Time, store *cluster.Store, claim string, node *corev1.Node) nomination.Hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	hold, known := h.holds[claim]
	if known && now.Sub(h.at) < lifecycle.HoldPoll {
		return hold
	}
	before := h.holds[claim]
	h.next(now, nomination.Holds(store.Snapshot(now, nil), claim, node))
	if hold := h.holds[claim]; !hold.Until.IsZero() || before.Until.IsZero() {
		return hold
	}
	return before // for this time: it opens with the others
}

// next takes new holds, and releases those that are kept no longer.
func (h *holds) next(now time.Time, holds map[string]nomination.Hold) {
	byFree := func(a, b string) int { return cmp.Or(cmp.Compare(holds[a].Free, holds[b].Free), cmp.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(holds), byFree) {
		if holds[name].Until.IsZero() && !h.holds[name].Until.IsZero() {
			h.release(name)
		}
	}
	h.at, h.holds = now, holds
}

// release has a claim served at once; if too many are to be, it asks again by itself.
func (h *holds) release(claim string) {
	select {
	case h.released <- event.TypedGenericEvent[*karpv1.NodeClaim]{Object: &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim}}}:
	default:
	}
}
