package disruption

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// The rules about the pods that run on a machine or are expected there.

// upToDate keeps every machine while the pods of the picture are old.
func upToDate(e *examiner, _ *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Unseen
	if p == nil {
		return plan.Reason{}, false
	}
	return plan.Reason{Code: plan.WatchBehind, Objects: []plan.ObjectRef{plan.PodRef(p.Pod), plan.NodeRef(p.Spec.NodeName)}}, true
}

func podsMayBeDisrupted(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	for _, p := range n.Pods {
		if until, protected := eviction.Protected(p.Pod, e.s.Now); protected {
			return plan.Reason{
				Code: plan.DoNotDisrupt, Objects: []plan.ObjectRef{plan.PodRef(p.Pod)},
				Have: p.Annotations[eviction.DoNotDisruptAnnotation], Until: until,
			}, true
		}
	}
	return plan.Reason{}, false
}

func notNominated(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p, found := e.nominated[n.Name]
	if !found {
		return plan.Reason{}, false
	}
	return plan.Reason{
		Code: plan.Nominated, Objects: []plan.ObjectRef{plan.PodRef(p.Pod)},
		Since: pendingSince(p), Until: nomination.Until(p, n),
	}, true
}

// settled keeps a machine with pods while one that waits since before they were there counts on another
// that was launched with it: as long as kube-scheduler fills them, it may put the pod, and others,
// on either.
func settled(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	for _, at := range e.filling[n.Claim.Pool] {
		if at.Node.Claim.Created.Sub(n.Claim.Created).Abs() <= nomination.Together {
			until := fillsUntil(at.Node)
			if lease := nomination.Until(at.Pod, at.Node); !lease.IsZero() && lease.Before(until) {
				until = lease
			}
			return plan.Reason{
				Code: plan.Nominated, Objects: append([]plan.ObjectRef{plan.PodRef(at.Pod.Pod)}, plan.MachineRefs(at.Node)...),
				Since: pendingSince(at.Pod), Until: until,
			}, true
		}
	}
	return plan.Reason{}, false
}

// fillsUntil is until when kube-scheduler may still fill a machine with the pods that waited for it.
func fillsUntil(n *snapshot.Node) time.Time {
	return n.Claim.Conditions[snapshot.Registered].Since.Add(nomination.Lease)
}

// filled are the machines that are being filled, by pool, each with the first of the pods that wait
// since before it joined.
func filled(s *snapshot.Snapshot, planned *plan.Plan) map[string][]plan.Placement {
	out, seen := map[string][]plan.Placement{}, map[*snapshot.Node]bool{}
	for _, at := range planned.Placements {
		p, n := at.Pod, at.Node
		if seen[n] || p.Buffer != nil || n.Claim == nil || !s.Now.Before(fillsUntil(n)) || nomination.Refused(p, n, s.Now) {
			continue
		}
		if since := pendingSince(p); !since.IsZero() && since.Before(n.Claim.Conditions[snapshot.Registered].Since) {
			seen[n], out[n.Claim.Pool] = true, append(out[n.Claim.Pool], at)
		}
	}
	return out
}

// shownPods is how many pods a reason lists; the count says how many there are.
const shownPods = 5

// vacant keeps a machine that runs pods or has the room of buffers.
func vacant(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	r, count := plan.Reason{Code: plan.HasPods}, 0
	for p := range whatif.Moving(n) {
		if count++; count <= shownPods {
			r.Objects = append(r.Objects, plan.PodRef(p.Pod))
		}
	}
	if count == 0 {
		r.Code, count = plan.HasBuffers, len(e.chunks[n.Name])
		for _, p := range e.chunks[n.Name] {
			if ref := plan.RefOf(p); !slices.Contains(r.Objects, ref) {
				r.Objects = append(r.Objects, ref)
			}
		}
	}
	r.Have = strconv.Itoa(count)
	return r, count > 0
}

// evictable asks the PDBs about the pods that would be evicted from a machine
// that is otherwise empty: those of DaemonSets.
func evictable(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	for _, p := range n.Pods {
		if !eviction.Evictable(p.Pod, e.s.Now) {
			continue
		}
		if by := e.budgets.Blocking(p.Pod); len(by) > 0 {
			r := plan.Reason{Code: plan.PDBBlocks, Objects: []plan.ObjectRef{plan.PodRef(p.Pod)}}
			for _, pdb := range by {
				r.Objects = append(r.Objects, plan.ObjectRef{Kind: "PodDisruptionBudget", Namespace: pdb.Namespace, Name: pdb.Name})
			}
			return r, true
		}
	}
	return plan.Reason{}, false
}

// consenting asks, where the policy denies by default, whether the pods that would have to
// move agree to it, or the Node does.
func consenting(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	const agrees = "false"
	if !e.s.Pool(n.Claim.Pool).Policy.Disruption.DefaultDeny || n.Object.Annotations[eviction.DoNotDisruptAnnotation] == agrees {
		return plan.Reason{}, false
	}
	for p := range whatif.Moving(n) {
		if p.Annotations[eviction.DoNotDisruptAnnotation] != agrees {
			return plan.Reason{Code: plan.NotAgreed, Objects: append([]plan.ObjectRef{plan.PodRef(p.Pod)}, poolRef(e.s.Pool(n.Claim.Pool))...)}, true
		}
	}
	return plan.Reason{}, false
}

// cooledDown keeps a machine with pods of workloads of which a pod has just started.
func cooledDown(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	rest := e.s.Pool(n.Claim.Pool).Policy.Disruption.WorkloadCooldown
	if rest == 0 {
		return plan.Reason{}, false
	}
	r := plan.Reason{Code: plan.WorkloadCoolsDown, Want: rest.String()}
	for p := range whatif.Moving(n) {
		since := e.started()[workload(p)]
		if until := since.Add(rest); e.s.Now.Before(until) && until.After(r.Until) {
			r.Objects, r.Since, r.Until = []plan.ObjectRef{plan.PodRef(p.Pod)}, since, until
		}
	}
	return r, len(r.Objects) > 0
}

// latestStarts maps each workload to when the youngest of its pods was started.
func latestStarts(s *snapshot.Snapshot) map[string]time.Time {
	out := map[string]time.Time{}
	for _, n := range s.Nodes {
		for _, p := range n.Pods {
			if w, at := workload(p), p.Status.StartTime; w != "" && at != nil && at.After(out[w]) {
				out[w] = at.Time
			}
		}
	}
	return out
}

// workload is a pod's controller, empty if it has none.
func workload(p *snapshot.Pod) string {
	owner := metav1.GetControllerOf(p.Pod)
	if owner == nil {
		return ""
	}
	return p.Namespace + "/" + owner.Kind + "/" + owner.Name
}
