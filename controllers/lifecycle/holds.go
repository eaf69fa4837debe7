package lifecycle

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/nomination"
)

// holds is what keeps Nodes that have joined from taking pods. Working that out takes a walk
// over all pods that wait, for one Node or for all, so the answer serves all claims until
// they ask again. Safe for concurrent use.
type holds struct {
	mu    sync.Mutex
	at    time.Time
	holds map[string]nomination.Hold
}

// of is the hold of a claim's Node.
func (h *holds) of(now time.Time, store *cluster.Store, claim string, node *corev1.Node) nomination.Hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	hold, known := h.holds[claim]
	if !known || now.Sub(h.at) >= lifecycle.HoldPoll {
		h.at, h.holds = now, nomination.Holds(store.Snapshot(now, nil), claim, node)
		hold = h.holds[claim]
	}
	return hold
}
