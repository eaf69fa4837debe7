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
	refused := refusedBy(s)
	for _, p := range s.Pending {
		reason, ok := provisionable(p, refused)
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

// provisionable reports whether a pod waits for a machine. The scheduler says so by a condition,
// and those that it has not tried yet wait behind that one. A pod without any status is a manifest
// that was never applied and counts too. So does one that is nominated to a node, unless the
// scheduler has nominated it: it makes room there, or is about to bind the pod.
func provisionable(p *snapshot.Pod, refused map[string]bool) (plan.Reason, bool) {
	no := func(code plan.Code, have string) (plan.Reason, bool) {
		return plan.Reason{Code: code, Objects: []plan.ObjectRef{plan.PodRef(p.Pod)}, Have: have}, false
	}
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
	case p.Status.Phase != "" && !refused[p.Spec.SchedulerName]:
		return no(plan.AwaitingScheduler, p.Spec.SchedulerName)
	}
	return plan.Reason{}, true
}

// refusedBy are the names of the schedulers that have found no node for some pod.
func refusedBy(s *snapshot.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, p := range s.Pending {
		out[p.Spec.SchedulerName] = out[p.Spec.SchedulerName] || unschedulable(p)
	}
	return out
}

func unschedulable(p *snapshot.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
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
