package backoff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// WorkloadPause is that a pool launches nothing, or one machine at a time, for a workload.
type WorkloadPause struct {
	snapshot.Failure
	// Until is when the next machine may be launched for it, as a trial; zero if one may
	// now.
	Until time.Time
}

// WorkloadPauses are those of a pool, by workload. A workload that uses a machine which
// was launched after its last failure is not among them.
func WorkloadPauses(p *snapshot.Pool, nodes []*snapshot.Node, now time.Time) []WorkloadPause {
	policy := snapshot.Initialization{Backoff: p.Policy.Initialization.Backoff}.Defaulted().Backoff
	var out []WorkloadPause
	for _, f := range p.Failures {
		if f.Workload == "" || used(f, p, nodes, now, usedAfter) {
			continue
		}
		pause := WorkloadPause{Failure: f}
		if f.Count >= policy.Failures {
			if until := f.Last.Add(length(f.Count-policy.Failures, policy)); now.Before(until) {
				pause.Until = until
			}
		}
		out = append(out, pause)
	}
	slices.SortFunc(out, func(a, b WorkloadPause) int { return strings.Compare(a.Workload, b.Workload) })
	return out
}

// used reports whether a pod of a workload has been on a machine that was launched for it
// since for as long as is asked, or until it ended by itself.
func used(f snapshot.Failure, p *snapshot.Pool, nodes []*snapshot.Node, now time.Time, forAsLong time.Duration) bool {
	return slices.ContainsFunc(nodes, func(n *snapshot.Node) bool {
		return launchedSince(n, p, f) && (n.HasEnded(f.Workload) || slices.ContainsFunc(n.Pods, func(on *snapshot.Pod) bool {
			return uses(on, f.Workload) && !boundAt(on).IsZero() && now.Sub(boundAt(on)) >= forAsLong
		}))
	})
}

// trying reports whether a machine that was launched for the workload as a trial may still
// turn out to be of use to it: one that the oldest waiting pod can tell of, and whose room no
// other pod of its kind has taken.
func trying(f snapshot.Failure, p *snapshot.Pool, s *snapshot.Snapshot, oldest *snapshot.Pod) bool {
	kinds := kinds{}
	return slices.ContainsFunc(s.Nodes, func(n *snapshot.Node) bool {
		return launchedSince(n, p, f) && !n.Deleting() && !recorded(n.Claim, f.Workload) && (!n.Registered() || judged(n, s.Now)) && !later(oldest, n) && !kinds.taken(n, oldest)
	})
}

func launchedSince(n *snapshot.Node, p *snapshot.Pool, f snapshot.Failure) bool {
	if n.Claim == nil || n.Claim.Pool != p.Name || n.Claim.Created.Before(f.Last) {
		return false
	}
	_, forIt := PodsOf(n.Claim)[f.Workload]
	return forIt
}

// forgotten is how long after the last failure of a workload, or for want of a resource, nothing
// is known of it: twice the longest pause, and so when no machine has been wanted for that long.
const forgotten = 2 * time.Hour

// Recover drops old failures for want of a resource that is not tried again, and failures of
// workloads that are old or have used a machine for as long as it may turn out to be unused. So what
// takes a workload's pods away minutes after they began to run counts on. Failures that are hours
// ahead were written by a clock that was wrong, or by hand: the pool would pause until then.
func Recover(p *snapshot.Pool, nodes []*snapshot.Node, now time.Time) []snapshot.Failure {
	return slices.DeleteFunc(slices.Clone(p.Failures), func(f snapshot.Failure) bool {
		switch old := now.Sub(f.Last) > forgotten; {
		case f.Last.Sub(now) > forgotten:
			return true
		case f.Workload != "":
			return old || used(f, p, nodes, now, judgedFor)
		case f.Resource != "":
			return old && !held(p, nodes, Pause{Failure: f}, now)
		}
		return false
	})
}

// PauseWorkloads gives the pending pods and the chunks of buffers for which pools launch nothing at present a class
// that says so: all of a workload during its pause and while a trial is under way, all but
// one otherwise; and all that request a resource which machines of the pool did not have, during
// the pause for that and while a trial is under way. The snapshot's lists are replaced, not changed.
func PauseWorkloads(s *snapshot.Snapshot) {
	paused := map[string][]snapshot.PausedPool{}
	spared := map[string][]snapshot.PausedPool{}
	countRecorded(s)
	var oldest map[string]*snapshot.Pod
	for _, p := range s.Pools {
		for _, w := range WorkloadPauses(p, s.Nodes, s.Now) {
			if oldest == nil {
				oldest = oldestOf(slices.Concat(s.Pending, firstChunks(s.Buffers)))
			}
			if oldest[w.Workload] == nil {
				continue
			}
			why := snapshot.PausedPool{Pool: p.Name, Why: UnusedReason(p.Name, w).Message()}
			paused[w.Workload] = append(paused[w.Workload], why)
			if !w.Until.IsZero() || trying(w.Failure, p, s, oldest[w.Workload]) {
				spared[w.Workload] = append(spared[w.Workload], why)
			}
		}
	}
	short := lacking(s)
	if len(paused)+len(short) == 0 {
		return
	}
	pods, buffers := slices.Clone(s.Pending), slices.Clone(s.Buffers)
	for i, p := range firstChunks(buffers) {
		if p.Class == nil {
			continue
		}
		w, lacks := Workload(p), short.of(p.Class)
		if len(paused[w])+len(lacks) > 0 {
			b := *buffers[i]
			b.Rest = p.Class.WithPaused(slices.Concat(paused[w], lacks))
			if len(spared[w])+len(lacks) > 0 {
				b.Chunk = &snapshot.Pod{Pod: p.Pod, Class: b.Rest}
			}
			buffers[i] = &b
		}
	}
	classes := map[*snapshot.Class]map[string]*snapshot.Class{}
	first := map[string]bool{}
	for i, p := range pods {
		w := Workload(p)
		pools := paused[w]
		if !first[w] {
			pools, first[w] = spared[w], true
		}
		if pools = slices.Concat(pools, short.of(p.Class)); len(pools) == 0 {
			continue
		}
		key := fmt.Sprint(w, len(pools))
		if classes[p.Class] == nil {
			classes[p.Class] = map[string]*snapshot.Class{}
		}
		if classes[p.Class][key] == nil {
			classes[p.Class][key] = p.Class.WithPaused(pools)
		}
		pods[i] = &snapshot.Pod{Pod: p.Pod, Class: classes[p.Class][key]}
	}
	s.Pending, s.Buffers = pods, buffers
}

// lack is which pools launch nothing for pods that request a resource.
type lack map[corev1.ResourceName][]snapshot.PausedPool

func lacking(s *snapshot.Snapshot) lack {
	out := lack{}
	for _, p := range s.Pools {
		for _, pause := range Pauses(p, s.Now) {
			if pause.Resource != "" && held(p, s.Nodes, pause, s.Now) {
				out[pause.Resource] = append(out[pause.Resource], snapshot.PausedPool{Pool: p.Name, Why: Reason(p.Name, pause, s.Now).Message()})
			}
		}
	}
	return out
}

// of are the pools that launch nothing for pods of a class.
func (l lack) of(c *snapshot.Class) (out []snapshot.PausedPool) {
	for _, want := range c.Requests {
		if want.Quantity.Sign() > 0 {
			out = append(out, l[want.Name]...)
		}
	}
	return out
}

// firstChunks are a chunk of each buffer, without a class where there is none.
func firstChunks(buffers []*snapshot.Buffer) []*snapshot.Pod {
	out := make([]*snapshot.Pod, len(buffers))
	for i, b := range buffers {
		out[i] = &snapshot.Pod{Pod: new(corev1.Pod), Buffer: b}
		if b.Chunk != nil {
			out[i] = &snapshot.Pod{Pod: b.Chunk.Pod, Class: b.Chunk.Class, Buffer: b}
		}
	}
	return out
}

// countRecorded counts what is recorded on claims and may not be on their pools yet.
func countRecorded(s *snapshot.Snapshot) {
	claims := map[string][]*snapshot.Claim{}
	for _, n := range s.Nodes {
		if n.Claim != nil && n.Claim.Annotations[UnusedAnnotation] != "" {
			claims[n.Claim.Pool] = append(claims[n.Claim.Pool], n.Claim)
		}
	}
	for i, p := range s.Pools {
		if len(claims[p.Name]) == 0 {
			continue
		}
		counted := *p
		counted.Failures = tidy(countUnused(cloned(p.Failures), claims[p.Name]), p.Hash)
		s.Pools[i] = &counted
	}
}

// UnusedReason is why a pool launches less for a workload.
func UnusedReason(pool string, w WorkloadPause) plan.Reason {
	return plan.Reason{
		Code: plan.MachinesUnused, Want: w.Workload, Have: strings.Join(w.Machines, "; "), Total: w.Count,
		Objects: []plan.ObjectRef{plan.PoolRef(pool), plan.ClaimRef(w.Claim)},
		Since:   w.Last, Until: w.Until,
	}
}
