package nodepool

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/awslabs/operatorpkg/status"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// conditionPaused is True while launches of the pool, or of one of its offerings,
// pause or are on trial. A pool without failures does not have it.
const conditionPaused = "LaunchesPaused"

// conditionUnused is True while machines are launched for workloads one at a time, or not
// at all, because earlier ones were not used.
const conditionUnused = string(plan.MachinesUnused)

// toldPauses bounds the workloads that the condition names.
const toldPauses = 10

// failed are claims that were given up because their machines failed, until they
// have been counted: one may be gone before its pool is looked at. Safe for
// concurrent use.
type failed struct {
	mu     sync.Mutex
	claims map[types.UID]*snapshot.Claim
}

func (f *failed) observe(nc *karpv1.NodeClaim) {
	reason := lifecycle.DeleteReason(nc.Annotations[lifecycle.GivenUpAnnotation])
	if nc.DeletionTimestamp == nil || !reason.Failure() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.claims == nil {
		f.claims = map[types.UID]*snapshot.Claim{}
	}
	f.claims[nc.UID] = cluster.Claim(nc)
}

// of lists those of a pool.
func (f *failed) of(pool string) []*snapshot.Claim {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*snapshot.Claim
	for _, c := range f.claims {
		if c.Pool == pool {
			out = append(out, c)
		}
	}
	return out
}

// drop forgets claims that have been counted.
func (f *failed) drop(claims []*snapshot.Claim) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range claims {
		delete(f.claims, c.UID)
	}
}

// ended are the claims of a pool, together with those that failed and may be gone;
// the second result is the latter.
func (r *Reconciler) ended(s *snapshot.Snapshot, pool string) (all, gone []*snapshot.Claim) {
	gone = r.failed.of(pool)
	all = slices.Clone(gone)
	for _, n := range s.Nodes {
		if n.Pool() == pool && !slices.ContainsFunc(gone, func(c *snapshot.Claim) bool { return c.UID == n.Claim.UID }) {
			all = append(all, n.Claim)
		}
	}
	return all, gone
}

// backoff counts failures, and says what they mean for the next launches.
func (r *Reconciler) backoff(np *karpv1.NodePool, s *snapshot.Snapshot, claims []*snapshot.Claim) {
	pool := r.pool(np)
	pool.Failures = backoff.Count(pool.Failures, claims, pool.Hash)
	pool.Failures = backoff.Recover(pool, s.Nodes, s.Now)
	writeFailures(np, pool.Failures)
	r.unused(np, pool, s)
	r.refused(np)
	reason, found := backoff.Worst(pool, r.Clock.Now())
	if !found {
		_ = r.conditions(np).Clear(conditionPaused) // it refuses only conditions that Ready depends on
		return
	}
	r.conditions(np).Set(status.Condition{Type: conditionPaused, Status: metav1.ConditionTrue, Reason: string(reason.Code), Message: reason.Message()})
	r.Writer.Event(apply.Event{Object: np, Warning: true, Reason: string(reason.Code), Message: reason.Message(), Dedupe: []string{reason.Message()}, Window: time.Hour})
}

// refused says that the API server refuses the pool's claims.
func (r *Reconciler) refused(np *karpv1.NodePool) {
	refusal := r.Store.RefusedLaunches(np.Name)
	if refusal == nil {
		_ = r.conditions(np).Clear(cluster.LaunchesRefused) // it refuses only conditions that Ready depends on
		return
	}
	reason := backoff.RefusedReason(np.Name, refusal)
	r.conditions(np).Set(status.Condition{Type: cluster.LaunchesRefused, Status: metav1.ConditionTrue, Reason: string(reason.Code), Message: refusal.Words})
}

// unused says of which workloads the machines were not used.
func (r *Reconciler) unused(np *karpv1.NodePool, pool *snapshot.Pool, s *snapshot.Snapshot) {
	pauses := backoff.WorkloadPauses(pool, s.Nodes, s.Now)
	if len(pauses) == 0 {
		_ = r.conditions(np).Clear(conditionUnused) // it refuses only conditions that Ready depends on
		return
	}
	texts := make([]string, 0, len(pauses))
	for _, pause := range pauses {
		reason := backoff.UnusedReason(np.Name, pause)
		texts = append(texts, reason.Message())
		r.Writer.Event(apply.Event{Object: np, Warning: true, Reason: string(reason.Code), Message: reason.Message(), Dedupe: []string{reason.Message()}, Window: time.Hour})
	}
	r.conditions(np).Set(status.Condition{Type: conditionUnused, Status: metav1.ConditionTrue, Reason: string(plan.MachinesUnused), Message: strings.Join(texts[:min(len(texts), toldPauses)], "\n")})
}

// pool is the pool with its policy and with what its class offers; nothing if the
// cloud does not know the class.
func (r *Reconciler) pool(np *karpv1.NodePool) *snapshot.Pool {
	pool := cluster.Pool(np, cluster.Options{})
	pool.Policy = r.Store.Policy(np.Name)
	if types, err := r.Types(pool.Class); err == nil {
		pool.Types = types
	}
	return pool
}

func writeFailures(np *karpv1.NodePool, failures []snapshot.Failure) {
	if len(failures) == 0 {
		delete(np.Annotations, cluster.FailuresAnnotation)
		return
	}
	text, err := json.Marshal(failures)
	if err != nil {
		return // plain data
	}
	np.Annotations[cluster.FailuresAnnotation] = string(text)
}

// nextPause is the time until the next pause of a pool ends, zero if none does.
func (r *Reconciler) nextPause(np *karpv1.NodePool) time.Duration {
	now := r.Clock.Now()
	if next := backoff.Next(r.pool(np), now); !next.IsZero() {
		return next.Sub(now)
	}
	return 0
}
