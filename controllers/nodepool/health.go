package nodepool

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Karpenter's measure of health: of the last ringSize launches, counted as if
// the missing ones had succeeded, the share that failed must stay below
// unhealthyShare.
const (
	ringSize       = 4
	unhealthyShare = 0.5
)

// ring is the outcome of the last launches of one pool.
type ring struct {
	failed  [ringSize]bool
	next, n int
}

func (r *ring) push(failed bool) {
	r.failed[r.next] = failed
	r.next = (r.next + 1) % ringSize
	r.n = min(r.n+1, ringSize)
}

// healthy is meaningless while the ring is empty.
func (r *ring) healthy() bool {
	failures := 0
	for _, f := range r.failed {
		if f {
			failures++
		}
	}
	return float64(failures)/ringSize < unhealthyShare
}

// Health remembers how the launches of every pool ended. It is safe for
// concurrent use.
type Health struct {
	// since is when this process began to watch. What ended before is in the
	// pool's condition already.
	since time.Time

	mu    sync.Mutex
	rings map[types.UID]*ring
	told  map[types.UID]bool // claims that were counted
	why   map[types.UID]failure
}

// failure is why the last launch of a pool failed.
type failure struct{ reason, message string }

// NewHealth begins to count launches that end after the given time.
func NewHealth(since time.Time) *Health {
	return &Health{since: since, rings: map[types.UID]*ring{}, told: map[types.UID]bool{}, why: map[types.UID]failure{}}
}

// Observe counts a claim once for its pool, when it has registered or has been
// given up.
func (h *Health) Observe(nc *karpv1.NodeClaim) {
	pool, failed, ended := owner(nc), false, false
	if pool != "" {
		failed, ended = outcome(nc, h.since)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !ended || h.told[nc.UID] {
		return
	}
	h.told[nc.UID] = true
	if h.rings[pool] == nil {
		h.rings[pool] = &ring{}
	}
	h.rings[pool].push(failed)
	if failed {
		h.why[pool] = whyFailed(nc)
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

// outcome says how a launch ended, if it did after since. Claims that still wait
// at the end of the lifecycle's timeouts are given up, which is what makes a
// launch a failure, and say so; those that Karpenter gave up are known by their
// age. One that is deleted earlier says nothing about its pool.
func outcome(nc *karpv1.NodeClaim, since time.Time) (failed, ended bool) {
	registered := nc.StatusConditions().Get(karpv1.ConditionTypeRegistered)
	if registered.IsTrue() {
		return false, !registered.LastTransitionTime.Time.Before(since.Truncate(time.Second))
	}
	if nc.DeletionTimestamp == nil || nc.DeletionTimestamp.Time.Before(since.Truncate(time.Second)) {
		return false, false
	}
	if lifecycle.DeleteReason(nc.Annotations[lifecycle.GivenUpAnnotation]).Failure() {
		return true, true
	}
	age := nc.DeletionTimestamp.Sub(nc.CreationTimestamp.Time)
	launched := nc.StatusConditions().Get(karpv1.ConditionTypeLaunched).IsTrue()
	return true, launched && age >= snapshot.DefaultRegistrationTimeout || !launched && age >= snapshot.DefaultLaunchTimeout
}

// whyFailed is the claim's own reason if it could not be launched.
func whyFailed(nc *karpv1.NodeClaim) failure {
	if launched := nc.StatusConditions().Get(karpv1.ConditionTypeLaunched); !launched.IsTrue() {
		return failure{launched.Reason, launched.Message}
	}
	return failure{"RegistrationFailed", "the node did not register in time"}
}

// registrationHealth sets NodeRegistrationHealthy. A change of the pool or of its class may
// have mended what was wrong, so it makes the answer unknown again.
func (r *Reconciler) registrationHealth(np *karpv1.NodePool, class *unstructured.Unstructured) {
	if class == nil {
		return
	}
	r.health.mu.Lock()
	defer r.health.mu.Unlock()
	conditions := r.conditions(np)
	was := conditions.Get(karpv1.ConditionTypeNodeRegistrationHealthy)
	if was == nil || was.ObservedGeneration != np.Generation || np.Status.NodeClassObservedGeneration != class.GetGeneration() {
		np.Status.NodeClassObservedGeneration = class.GetGeneration()
		delete(r.health.rings, np.UID)
		conditions.SetUnknown(karpv1.ConditionTypeNodeRegistrationHealthy)
		return
	}
	r.health.seed(np.UID, was.IsTrue(), was.IsFalse())
	last := r.health.rings[np.UID]
	switch {
	case last == nil || last.n == 0:
	case last.healthy():
		conditions.SetTrue(karpv1.ConditionTypeNodeRegistrationHealthy)
	default:
		why, known := r.health.why[np.UID]
		if !known { // seeded: the condition already says why
			return
		}
		conditions.SetFalse(karpv1.ConditionTypeNodeRegistrationHealthy, why.reason, why.message)
	}
}

// seed fills the ring of a pool that this process knows nothing about from its
// condition.
func (h *Health) seed(pool types.UID, healthy, unhealthy bool) {
	if h.rings[pool] != nil || !healthy && !unhealthy {
		return
	}
	r := &ring{}
	r.push(unhealthy)
	if unhealthy {
		r.push(true)
	}
	h.rings[pool] = r
}
