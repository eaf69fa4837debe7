package disruption

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// rule says why a machine stays; found is false when the rule has nothing
// against its removal.
type rule func(e *examiner, n *snapshot.Node) (reason plan.Reason, found bool)

// candidacy are the rules of every voluntary disruption, asked in this order.
// Later rules may rely on the earlier ones: a machine that passes initialized
// has a claim and a Node, one that passes pooled has a pool.
var candidacy = []rule{
	ours, notDeleted, initialized, pooled, dynamic,
	nodeMayBeDisrupted, podsMayBeDisrupted, notNominated,
}

// emptiness are the further rules of the cause Empty.
var emptiness = []rule{consolidationOn, vacant, evictable, quiet}

type examiner struct {
	s         *snapshot.Snapshot
	nominated map[string]*snapshot.Pod // by machine
	budgets   *eviction.Budgets
	settle    time.Duration
}

func newExaminer(s *snapshot.Snapshot, opts Options) *examiner {
	return &examiner{s: s, nominated: nominations(s, opts), budgets: eviction.NewBudgets(s.PDBs), settle: opts.Settle}
}

func (e *examiner) ask(n *snapshot.Node) (plan.Reason, bool) {
	for _, r := range slices.Concat(candidacy, emptiness) {
		if reason, found := r(e, n); found {
			return reason, true
		}
	}
	return plan.Reason{}, false
}

func ours(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	return plan.Reason{Code: plan.NotOurs, Objects: refs(n)}, n.Claim == nil
}

func notDeleted(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	if !n.Deleting() {
		return plan.Reason{}, false
	}
	since := n.Claim.Deleted
	if since.IsZero() && n.Object != nil && n.Object.DeletionTimestamp != nil {
		since = n.Object.DeletionTimestamp.Time
	}
	if since.IsZero() {
		since = n.Claim.Conditions[snapshot.InstanceTerminating].Since
	}
	return plan.Reason{Code: plan.BeingDeleted, Objects: refs(n), Since: since}, true
}

func initialized(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	for _, t := range []string{snapshot.Launched, snapshot.Registered, snapshot.Initialized} {
		if c := n.Claim.Conditions[t]; c.Status != corev1.ConditionTrue {
			return plan.Reason{Code: plan.NotInitialized, Objects: refs(n), Want: t, Have: c.Reason, Since: c.Since}, true
		}
	}
	// The claim came this far, but its Node is not in the picture.
	return plan.Reason{Code: plan.NotInitialized, Objects: refs(n), Want: "Node", Have: "NodeNotFound"}, n.Object == nil
}

func pooled(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	if n.Claim.Pool == "" {
		return plan.Reason{Code: plan.Standalone, Objects: refs(n)}, true
	}
	ref := plan.ObjectRef{Kind: "NodePool", Name: n.Claim.Pool}
	return plan.Reason{Code: plan.PoolMissing, Objects: append([]plan.ObjectRef{ref}, refs(n)...)}, e.s.Pool(n.Claim.Pool) == nil
}

func dynamic(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	return plan.Reason{Code: plan.StaticPool, Objects: poolRef(p)}, p.Replicas != nil
}

func nodeMayBeDisrupted(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	if n.Object.Annotations[eviction.DoNotDisruptAnnotation] == "true" {
		return plan.Reason{Code: plan.DoNotDisrupt, Objects: []plan.ObjectRef{{Kind: "Node", Name: n.Object.Name}}, Have: "true"}, true
	}
	claim := plan.ObjectRef{Kind: "NodeClaim", Name: n.Claim.Name}
	return plan.Reason{Code: plan.DoNotDisrupt, Objects: []plan.ObjectRef{claim}, Have: "true"}, n.Claim.Annotations[eviction.DoNotDisruptAnnotation] == "true"
}

func podsMayBeDisrupted(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	for _, p := range n.Pods {
		if until, protected := eviction.Protected(p.Pod, e.s.Now); protected {
			return plan.Reason{
				Code: plan.DoNotDisrupt, Objects: []plan.ObjectRef{podRef(p.Pod)},
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
		Code: plan.Nominated, Objects: []plan.ObjectRef{podRef(p.Pod)},
		Since: pendingSince(p.Pod), Until: nomination.Until(p, n),
	}, true
}

func consolidationOn(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	return plan.Reason{Code: plan.ConsolidationOff, Objects: poolRef(p)}, p.Disruption.ConsolidateAfter == nil
}

// shownPods is how many pods a reason lists; the count says how many there are.
const shownPods = 5

func vacant(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	r := plan.Reason{Code: plan.HasPods}
	count := 0
	for _, p := range n.Pods {
		if !eviction.Reschedulable(p.Pod) {
			continue
		}
		if count++; count <= shownPods {
			r.Objects = append(r.Objects, podRef(p.Pod))
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
			r := plan.Reason{Code: plan.PDBBlocks, Objects: []plan.ObjectRef{podRef(p.Pod)}}
			for _, pdb := range by {
				r.Objects = append(r.Objects, plan.ObjectRef{Kind: "PodDisruptionBudget", Namespace: pdb.Namespace, Name: pdb.Name})
			}
			return r, true
		}
	}
	return plan.Reason{}, false
}

func quiet(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	ok, at := Consolidatable(e.s, n)
	if ok {
		return plan.Reason{}, false
	}
	return plan.Reason{
		Code: plan.ConsolidateAfter, Objects: refs(n),
		Want: e.s.Pool(n.Claim.Pool).Disruption.ConsolidateAfter.String(), Since: quietSince(n.Claim), Until: at,
	}, true
}
