package pending

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Select sorts the pods: those to place, in the order of namespace and name,
// and those that are none of placement's business, with the reason. Pods of
// machines that are being deleted are to be placed as well.
func Select(s *snapshot.Snapshot) (pods []*snapshot.Pod, ignored []plan.Unplaced) {
	for _, p := range s.Pending {
		reason, ok := provisionable(p)
		if wait, waits := nomination.Waits(p, s.Now); ok && waits {
			reason, ok = wait, false
		}
		if !ok {
			ignored = append(ignored, plan.Unplaced{Pod: p, Reasons: []plan.Reason{reason}})
			continue
		}
		pods = append(pods, p)
	}
	budgets := eviction.NewBudgets(s.PDBs)
	for _, n := range s.Nodes {
		if !n.Deleting() {
			continue
		}
		for _, p := range n.Pods {
			if eviction.Reschedulable(p.Pod) && !stays(n.Claim, p, budgets, s.Now) {
				pods = append(pods, p.Again())
			}
		}
	}
	slices.SortFunc(pods, snapshot.ComparePods)
	slices.SortFunc(ignored, func(a, b plan.Unplaced) int { return snapshot.ComparePods(a.Pod, b.Pod) })
	return pods, ignored
}

// stays reports whether something keeps a pod from being evicted that counts when its
// machine is drained.
func stays(c *snapshot.Claim, p *snapshot.Pod, budgets *eviction.Budgets, now time.Time) bool {
	_, protected := eviction.Protected(p.Pod, now)
	return protected && !drain.Ignores(c, drain.ProtectedPods) ||
		guarded(p, budgets) && !drain.Ignores(c, drain.GuardedPods)
}

// provisionable reports whether a pod waits for a machine. So does one that is nominated to a node,
// unless the scheduler has nominated it: it makes room there, or is about to bind the pod.
func provisionable(p *snapshot.Pod) (plan.Reason, bool) {
	no := func(code plan.Code, have string) (plan.Reason, bool) { return because(p, code, have), false }
	switch {
	case !p.Active():
		return no(plan.PodEnded, string(p.Status.Phase))
	case p.OfDaemonSet():
		return no(plan.PodOfDaemonSet, "")
	case p.Mirror():
		return no(plan.PodOfNode, "")
	case len(p.Spec.SchedulingGates) > 0:
		return no(plan.SchedulingGated, p.Spec.SchedulingGates[0].Name)
	case nomination.Foreign(p.Pod):
		return no(plan.Preempting, p.Status.NominatedNodeName)
	case optedOut(p):
		return no(plan.OptedOut, "")
	}
	return plan.Reason{}, true
}

// Untried are the untried pods, with the reason why they have no place: mostly that they wait for
// their scheduler.
func Untried(s *snapshot.Snapshot) (ignored []plan.Unplaced) {
	for _, p := range s.Untried {
		reason, ok := provisionable(p)
		if ok {
			reason = because(p, plan.AwaitingScheduler, p.Spec.SchedulerName)
		}
		ignored = append(ignored, plan.Unplaced{Pod: p, Reasons: []plan.Reason{reason}})
	}
	return ignored
}

func because(p *snapshot.Pod, code plan.Code, have string) plan.Reason {
	return plan.Reason{Code: code, Objects: []plan.ObjectRef{plan.PodRef(p.Pod)}, Have: have}
}

// optedOut reports whether a pod requires a node that belongs to no pool.
func optedOut(p *snapshot.Pod) bool {
	if p.Class.Invalid != "" {
		return false
	}
	for _, term := range p.Class.Terms {
		if r, ok := term.Lookup(snapshot.PoolLabel); !ok || r.Operator() != requirement.DoesNotExist {
			return false
		}
	}
	return true
}

// guarded reports whether a pod can never be evicted: a PDB allows none of its pods to go,
// or two PDBs guard it, which the eviction API refuses.
func guarded(p *snapshot.Pod, budgets *eviction.Budgets) bool {
	over := budgets.Over(p.Pod)
	if len(over) != 1 {
		return len(over) > 1
	}
	unhealthy := over[0].Spec.UnhealthyPodEvictionPolicy
	return neverAllows(&over[0].Spec) && !(unhealthy != nil && *unhealthy == policyv1.AlwaysAllow && notReady(p))
}

func neverAllows(spec *policyv1.PodDisruptionBudgetSpec) bool {
	if m := spec.MaxUnavailable; m != nil {
		return m.String() == "0" || m.String() == "0%"
	}
	return spec.MinAvailable != nil && spec.MinAvailable.String() == "100%"
}

func notReady(p *snapshot.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
	})
}
