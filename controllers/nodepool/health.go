package nodepool

import (
	"encoding/json"
	"hash/fnv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/health"
)

// Health remembers how the launches of every pool ended. It is safe for
// concurrent use.
type Health struct {
	// since is when this process began to watch. What ended before is in the
	// pool's condition already.
	since time.Time

	mu    sync.Mutex
	rings map[types.UID]*health.Ring
	told  map[types.UID]bool // claims that were counted
	why   map[types.UID]failure
	// templates are the sums of those that the pools' conditions are about.
	templates map[types.UID]uint64
}

// failure is why the last launch of a pool failed.
type failure struct{ reason, message string }

// NewHealth begins to count launches that end after the given time.
func NewHealth(since time.Time) *Health {
	return &Health{since: since, rings: map[types.UID]*health.Ring{}, told: map[types.UID]bool{}, why: map[types.UID]failure{}, templates: map[types.UID]uint64{}}
}

// Observe counts a claim once for its pool, when it has registered or has been
// given up.
func (h *Health) Observe(nc *karpv1.NodeClaim) {
	pool, claim := owner(nc), cluster.Claim(nc)
	failed, ended := health.Outcome(claim, h.since)
	h.mu.Lock()
	defer h.mu.Unlock()
	if pool == "" || !ended || h.told[nc.UID] {
		return
	}
	h.told[nc.UID] = true
	if h.rings[pool] == nil {
		h.rings[pool] = &health.Ring{}
	}
	h.rings[pool].Push(failed)
	if failed {
		reason, message := health.Why(claim)
		h.why[pool] = failure{reason, message}
	}
}

// Forget drops what is remembered about a claim that is gone.
func (h *Health) Forget(claim types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.told, claim)
}

// owner is the UID of the pool that a claim was made from, empty if none.
func owner(nc *karpv1.NodeClaim) types.UID {
	for _, o := range nc.OwnerReferences {
		if o.Kind == "NodePool" {
			return o.UID
		}
	}
	return ""
}

// registrationHealth sets NodeRegistrationHealthy. A change of the pool's template or of its class
// may have mended what was wrong, so it makes the answer unknown again.
func (r *Reconciler) registrationHealth(np *karpv1.NodePool, class *unstructured.Unstructured) {
	if class == nil {
		return
	}
	r.health.mu.Lock()
	defer r.health.mu.Unlock()
	conditions := r.conditions(np)
	was := conditions.Get(karpv1.ConditionTypeNodeRegistrationHealthy)
	template := sum(&np.Spec.Template)
	if was != nil && was.ObservedGeneration == np.Generation {
		r.health.templates[np.UID] = template
	}
	if was == nil || r.health.templates[np.UID] != template || np.Status.NodeClassObservedGeneration != class.GetGeneration() {
		np.Status.NodeClassObservedGeneration = class.GetGeneration()
		delete(r.health.rings, np.UID)
		conditions.SetUnknown(karpv1.ConditionTypeNodeRegistrationHealthy)
		return
	}
	r.health.seed(np.UID, was.IsTrue(), was.IsFalse())
	last := r.health.rings[np.UID]
	switch {
	case last == nil || last.Empty():
		conditions.SetUnknown(karpv1.ConditionTypeNodeRegistrationHealthy)
	case last.Healthy():
		conditions.SetTrue(karpv1.ConditionTypeNodeRegistrationHealthy)
	default:
		why, known := r.health.why[np.UID]
		if !known { // seeded: the condition already says why
			why = failure{was.Reason, was.Message}
		}
		conditions.SetFalse(karpv1.ConditionTypeNodeRegistrationHealthy, why.reason, why.message)
	}
}

// sum is another one for another template. np.Hash leaves out its requirements.
func sum(t *karpv1.NodeClaimTemplate) uint64 {
	h := fnv.New64a()
	_ = json.NewEncoder(h).Encode(t) // it writes to a hash, and the API server has sent it as JSON
	return h.Sum64()
}

// seed fills the ring of a pool that this process knows nothing about from its
// condition.
func (h *Health) seed(pool types.UID, healthy, unhealthy bool) {
	if h.rings[pool] != nil || !healthy && !unhealthy {
		return
	}
	h.rings[pool] = health.Seeded(healthy)
}
