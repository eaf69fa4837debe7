package disruption

import (
	"cmp"
	"hash/fnv"
	"time"

	"github.com/millwright-dev/millwright/engine/disruption/idle"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Consolidatable reports whether a machine has been quiet for its pool's
// consolidateAfter, and if not, when it will have been if nothing happens, or when it has
// waited for long enough. The time is zero when only another event than the passing of time
// can change the answer: the machine is not initialized, or its pool does not consolidate.
func Consolidatable(s *snapshot.Snapshot, n *snapshot.Node) (ok bool, at time.Time) {
	if n.Claim == nil || !n.Claim.Is(snapshot.Initialized) {
		return false, time.Time{}
	}
	pool := s.Pool(n.Claim.Pool)
	if pool == nil || pool.Replicas != nil || pool.Disruption.ConsolidateAfter == nil {
		return false, time.Time{}
	}
	at = restOf(n, pool, s.Now).until()
	if s.Now.Before(at) {
		return false, at
	}
	return true, time.Time{}
}

// rest is what a machine waits for before it is consolidated.
type rest struct {
	// since is when the youngest of the pods that would have to move came, or if there are
	// none when the last pod came or left; and not before the machine was initialized. idle
	// is when it has been so for consolidateAfter, and rounds is over.
	since, idle time.Time
	// rounds is until when the next pods are waited for, zero if none has ended by itself.
	rounds time.Time
	// enough is when the machine has waited for long enough although pods keep coming or
	// ending, zero for never.
	enough time.Time
}

func (r rest) until() time.Time {
	if !r.enough.IsZero() && r.enough.Before(r.idle) {
		return r.enough
	}
	return r.idle
}

// maxYoung bounds for how long a machine waits for young pods, in consolidateAfter, or
// [idle.Between] if that is more: until what it costs in the meantime is so many times what they
// cost while they become old.
//
//	price * waited >= maxYoung * consolidateAfter * price * young / (pods + 1)
const maxYoung = 10

// restOf judges a machine by the pods that would have to move. Others may come and go.
func restOf(n *snapshot.Node, pool *snapshot.Pool, now time.Time) rest {
	after := *pool.Disruption.ConsolidateAfter
	most := max(after, idle.Between)
	r := rest{since: n.Claim.Conditions[snapshot.Initialized].Since}
	pods, young := 0, 0
	for p := range whatif.Moving(n) {
		pods++
		if pool.Policy.Disruption.IgnoreJobs && eviction.OfJob(p.Pod) {
			continue
		}
		at := idle.Bound(p.Pod)
		if now.Before(at.Add(most)) {
			young++
		}
		r.since = snapshot.Latest(r.since, at)
	}
	if pods == 0 {
		r.since = snapshot.Latest(r.since, n.Claim.LastPodEvent)
	}
	if !pool.Policy.Disruption.IgnoreJobs {
		for _, at := range n.Ended {
			r.rounds = snapshot.Latest(r.rounds, at.Add(idle.Between))
		}
	}
	r.idle = snapshot.Latest(r.since.Add(after), r.rounds)
	if s := idle.StreakOf(n.Claim.Annotations); s.Events > 0 && pods > 0 {
		began := snapshot.Latest(s.Since, n.Claim.Conditions[snapshot.Initialized].Since)
		r.enough = began.Add(most + maxYoung*most*time.Duration(young)/time.Duration(pods+1))
	}
	return r
}

// pendingSince is when kube-scheduler first said that there is no room for a
// pod, or its creation; zero for one that has a node.
func pendingSince(p *snapshot.Pod) time.Time {
	if p.Spec.NodeName != "" {
		return time.Time{}
	}
	return cmp.Or(nomination.WaitingSince(p), p.CreationTimestamp.Time)
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
