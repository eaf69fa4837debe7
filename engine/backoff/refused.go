package backoff

import (
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// How long the API server is not asked again for claims of a pool that it refused: twice
// as long each time, within these bounds. Rights and quotas are mended by people, who
// should not have to wait long to see that it helped.
const (
	refusedFirst = 2 * time.Second
	refusedMost  = time.Minute
)

// RefusedUntil is when a claim is tried again.
func RefusedUntil(r *snapshot.LaunchRefusal) time.Time {
	pause := refusedFirst
	for range r.Count - 1 {
		if pause *= 2; pause >= refusedMost {
			pause = refusedMost
			break
		}
	}
	return r.Last.Add(pause)
}

// RefusedReason is why a pool launches nothing, in the API server's words.
func RefusedReason(pool string, r *snapshot.LaunchRefusal) plan.Reason {
	return plan.Reason{
		Code: plan.LaunchesRefused, Objects: []plan.ObjectRef{plan.PoolRef(pool)}, Have: r.Words, Total: r.Count,
		Since: r.Last, Until: RefusedUntil(r),
	}
}

// refuse keeps a pool from launching while the API server is not asked, and lets it try one
// machine afterwards.
func refuse(p *snapshot.Pool, now time.Time) *snapshot.Pool {
	if p.Refused == nil {
		return p
	}
	out := *p
	switch {
	case !now.Before(RefusedUntil(p.Refused)):
		out.OnTrial = true
	case out.NotReady == "":
		out.NotReady = RefusedReason(p.Name, p.Refused).Message()
	}
	return &out
}
