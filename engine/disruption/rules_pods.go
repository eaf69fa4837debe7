package disruption

import (
	"strconv"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// The rules about the pods that run on a machine or are expected there.

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
		Since: pendingSince(p.Pod), Until: nomination.Until(p, n),
	}, true
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
			r.Objects = append(r.Objects, plan.PodRef(p.Pod))
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
