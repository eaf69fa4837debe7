package disruption

import (
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Consolidatable reports whether a machine has been quiet for its pool's
// consolidateAfter, and if not, when it will have been if nothing happens. The
// time is zero when only another event than the passing of time can change the
// answer: the machine is not initialized, or its pool does not consolidate.
func Consolidatable(s *snapshot.Snapshot, n *snapshot.Node) (ok bool, at time.Time) {
	if n.Claim == nil || !n.Claim.Is(snapshot.Initialized) {
		return false, time.Time{}
	}
	pool := s.Pool(n.Claim.Pool)
	if pool == nil || pool.Replicas != nil || pool.Disruption.ConsolidateAfter == nil {
		return false, time.Time{}
	}
	at = quietSince(n.Claim).Add(*pool.Disruption.ConsolidateAfter)
	if s.Now.Before(at) {
		return false, at
	}
	return true, time.Time{}
}

// quietSince is when the consolidateAfter of a machine began to run: at its last
// pod event, and not before it was initialized. A pod that was bound while the
// machine still started up must not count as quiet time.
func quietSince(c *snapshot.Claim) time.Time {
	since := c.Conditions[snapshot.Initialized].Since
	if c.LastPodEvent.After(since) {
		return c.LastPodEvent
	}
	return since
}

// pendingSince is when kube-scheduler first said that there is no room for a
// pod, or its creation.
func pendingSince(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

// Expires is when a machine is to be replaced because of its age, zero for never:
// a little before its expireAfter is over, so that a replacement can be there in
// time, and so that machines of one age do not all go at once. How much before
// depends on the claim's name alone: at most a tenth of expireAfter, and an hour.
func Expires(c *snapshot.Claim) time.Time {
	if c.ExpireAfter == nil {
		return time.Time{}
	}
	h := fnv.New64a()
	h.Write([]byte(c.Name))
	early := min(*c.ExpireAfter/10, time.Hour)
	return c.Created.Add(*c.ExpireAfter - time.Duration(h.Sum64()%1000)*early/1000)
}
