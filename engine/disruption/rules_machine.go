package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/disruption/idle"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/window"
)

// The rules about a machine itself and about its pool.

func notReplacing(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	if old := e.replacing[n.Name]; old != nil {
		return plan.Reason{Code: plan.Replacement, Objects: plan.MachineRefs(old)}, true
	}
	if from := e.counted[n.Name]; from != nil {
		return plan.Reason{Code: plan.CountedOn, Objects: plan.MachineRefs(from)}, true
	}
	return plan.Reason{}, false
}

// startedUp keeps a young machine that carries a taint that may belong to its start:
// without it, no pod could have come. Of those that were launched one after the other
// because of it the oldest is enough to find out.
func startedUp(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	taint, until := lifecycle.Unsettled(n.Claim, n.Object, e.s.Now)
	if len(backoff.UnusedOf(n.Claim)) > 0 && slices.ContainsFunc(e.s.Nodes, func(o *snapshot.Node) bool { return triedBefore(e, o, n) }) {
		return plan.Reason{}, false
	}
	return plan.Reason{
		Code: plan.NotInitialized, Objects: plan.MachineRefs(n), Want: "the end of taint " + taint, Have: "NodePool " + n.Claim.Pool + " does not declare it",
		Since: n.Object.CreationTimestamp.Time, Until: until,
	}, taint != ""
}

// triedBefore reports whether an older machine of the pool waits for the end of a taint.
func triedBefore(e *examiner, older, n *snapshot.Node) bool {
	if older.Claim == nil || older.Object == nil || older.Deleting() || older.Pool() != n.Pool() {
		return false
	}
	taint, _ := lifecycle.Unsettled(older.Claim, older.Object, e.s.Now)
	return taint != "" && cmp.Or(older.Claim.Created.Compare(n.Claim.Created), cmp.Compare(older.Name, n.Name)) < 0
}

// consolidates asks the pool's policy about machines that have pods.
func consolidates(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool).Disruption.Policy
	if p == "WhenEmptyOrUnderutilized" || p == Balanced {
		return plan.Reason{}, false
	}
	return vacant(e, n)
}

// Balanced is the consolidation policy that weighs savings against disruption.
const Balanced = "Balanced"

func priced(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	return plan.Reason{Code: plan.PriceUnknown, Objects: plan.MachineRefs(n), Have: p.NotReady}, Price(p, n) <= 0
}

func ours(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	return plan.Reason{Code: plan.NotOurs, Objects: plan.MachineRefs(n)}, n.Claim == nil
}

func notDeleted(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	if !n.Deleting() {
		return plan.Reason{}, false
	}
	var node time.Time
	if n.Object != nil && n.Object.DeletionTimestamp != nil {
		node = n.Object.DeletionTimestamp.Time
	}
	since := cmp.Or(n.Claim.Deleted, node, n.Claim.Conditions[snapshot.InstanceTerminating].Since)
	return plan.Reason{Code: plan.BeingDeleted, Objects: plan.MachineRefs(n), Since: since}, true
}

func initialized(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	for _, t := range []string{snapshot.Launched, snapshot.Registered, snapshot.Initialized} {
		if c := n.Claim.Conditions[t]; c.Status != corev1.ConditionTrue {
			return plan.Reason{Code: plan.NotInitialized, Objects: plan.MachineRefs(n), Want: t, Have: c.Reason, Since: c.Since}, true
		}
	}
	// The claim came this far, but its Node is not in the picture.
	return plan.Reason{Code: plan.NotInitialized, Objects: plan.MachineRefs(n), Want: "Node", Have: "NodeNotFound"}, n.Object == nil
}

// twins finds the Nodes that are another Node of a machine's instance, as a kubelet makes one
// that comes back under another name.
func twins(s *snapshot.Snapshot) map[string][]*snapshot.Node {
	machines := map[string]bool{}
	for _, n := range s.Nodes {
		if n.Claim != nil && n.Claim.ProviderID != "" {
			machines[n.Claim.ProviderID] = true
		}
	}
	out := map[string][]*snapshot.Node{}
	for _, n := range s.Nodes {
		if n.Claim == nil && machines[n.Object.Spec.ProviderID] {
			out[n.Object.Spec.ProviderID] = append(out[n.Object.Spec.ProviderID], n)
		}
	}
	return out
}

// unshared keeps a machine whose instance runs pods under another Node: they would have to
// leave as well, and no decision counts them.
func unshared(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	for _, twin := range e.twins[n.Claim.ProviderID] {
		for p := range whatif.Moving(twin) {
			return plan.Reason{Code: plan.InstanceShared, Objects: append(plan.MachineRefs(twin), plan.PodRef(p.Pod))}, true
		}
	}
	return plan.Reason{}, false
}

func pooled(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	if n.Claim.Pool == "" {
		return plan.Reason{Code: plan.Standalone, Objects: plan.MachineRefs(n)}, true
	}
	ref := plan.PoolRef(n.Claim.Pool)
	return plan.Reason{Code: plan.PoolMissing, Objects: append([]plan.ObjectRef{ref}, plan.MachineRefs(n)...)}, e.s.Pool(n.Claim.Pool) == nil
}

func dynamic(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	return plan.Reason{Code: plan.StaticPool, Objects: poolRef(p)}, p.Replicas != nil
}

func nodeMayBeDisrupted(_ *examiner, n *snapshot.Node) (plan.Reason, bool) {
	if r := restart.Of(n.Claim); r.UnderWay() {
		return plan.Reason{Code: plan.Restarting, Objects: plan.MachineRefs(n), Have: r.Phase(), Since: r.Begun}, true
	}
	if r := n.Claim.Conditions[snapshot.Rebooting]; r.Status == corev1.ConditionTrue {
		return plan.Reason{Code: plan.Rebooting, Objects: plan.MachineRefs(n), Have: r.Message, Since: r.Since}, true
	}
	if n.Object.Annotations[eviction.DoNotDisruptAnnotation] == "true" {
		return plan.Reason{Code: plan.DoNotDisrupt, Objects: []plan.ObjectRef{plan.NodeRef(n.Object.Name)}, Have: "true"}, true
	}
	claim := plan.ClaimRef(n.Claim.Name)
	return plan.Reason{Code: plan.DoNotDisrupt, Objects: []plan.ObjectRef{claim}, Have: "true"}, n.Claim.Annotations[eviction.DoNotDisruptAnnotation] == "true"
}

func consolidationOn(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	return plan.Reason{Code: plan.ConsolidationOff, Objects: poolRef(p)}, p.Disruption.ConsolidateAfter == nil
}

func idleLongEnough(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	rest := restOf(n, p, e.s.Now)
	r := plan.Reason{
		Code: plan.ConsolidateAfter, Objects: plan.MachineRefs(n),
		Want: p.Disruption.ConsolidateAfter.String(), Since: rest.since, Until: rest.until(),
	}
	if !e.s.Now.Before(r.Until) {
		return plan.Reason{}, false
	}
	if r.Until.Equal(rest.rounds) {
		r.Since = rest.rounds.Add(-idle.Between)
		r.Want += fmt.Sprintf(" (%s after a pod has ended, for the next of its workload)", idle.Between)
	}
	// Two rests in a row that were cut short are no accident.
	streak, last := idle.StreakOf(n.Claim.Annotations), n.Claim.LastPodEvent
	if streak.Events == 0 || last.Sub(streak.Since) < 2*max(*p.Disruption.ConsolidateAfter, idle.Between) && !r.Until.Before(rest.idle) {
		return r, true
	}
	r.Code, r.Since, r.Total, r.Have = plan.Starved, streak.Since, streak.Events, streak.Interval(last).String()
	if _, holds := vacant(e, n); !holds {
		r.Field = "empty"
	}
	r.Objects = append(poolRef(p), r.Objects...)
	return r, true
}

func notFrozen(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	return frozen(e.s.Pool(n.Claim.Pool))
}

// ruled are a pool and the NodePolicy that decides about its disruption.
func ruled(p *snapshot.Pool) []plan.ObjectRef {
	out := poolRef(p)
	if from := p.Policy.Disruption.From; from != "" {
		out = append(out, plan.ObjectRef{Kind: "NodePolicy", Name: from})
	}
	return out
}

func frozen(p *snapshot.Pool) (plan.Reason, bool) {
	why := p.Policy.Disruption.Freeze
	return plan.Reason{Code: plan.PolicyHolds, Objects: ruled(p), Want: fmt.Sprintf("freeze: %q", why)}, why != ""
}

func oldEnough(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	age := p.Policy.Disruption.MinNodeAge
	since := n.Claim.Conditions[snapshot.Initialized].Since
	return plan.Reason{
		Code: plan.PolicyHolds, Objects: ruled(p), Want: fmt.Sprintf("minNodeAge: %s", age), Since: since, Until: since.Add(age),
	}, e.s.Now.Before(since.Add(age))
}

func inWindow(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	return outside(e.s.Pool(n.Claim.Pool), e.s.Now)
}

// outside asks whether no disruption of a pool's machines may begin now because of its windows.
// A window that cannot be read never opens.
func outside(p *snapshot.Pool, now time.Time) (plan.Reason, bool) {
	r := plan.Reason{Code: plan.PolicyHolds, Objects: ruled(p), Want: "outside its windows"}
	opens, err := window.Opens(p.Policy.Disruption.Windows, now)
	switch {
	case err != nil:
		r.Want = fmt.Sprintf("a window cannot be read: %v", err)
	case opens.After(now):
		r.Until = opens
	default:
		return plan.Reason{}, false
	}
	return r, true
}

// Held says why no voluntary disruption of any of a pool's machines may begin now, whatever they
// are and its budgets leave.
func Held(p *snapshot.Pool, now time.Time) (plan.Reason, bool) {
	if r, held := frozen(p); held {
		return r, true
	}
	return outside(p, now)
}
