package nomination

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// A pod that has lost its place to another may well get that one's. So it is given a
// machine more only when kube-scheduler has come to rest: it has tried every pod that
// waited for the plan, and has bound none of them for a moment.
const (
	// Quiet is how long kube-scheduler must have bound none of a plan's pods, and no
	// machine of the plan begun to take any.
	Quiet = 3 * time.Second
	// Unrest is when it is not waited for any longer, counted from when the last machine
	// of the plan began to take pods. Where the API server has much to do, kube-scheduler
	// tries a few pods a second.
	Unrest = 2 * time.Minute
)

// Plan plans pods, but leaves those aside for which new machines would be early; waits
// says that there are some, which are to be planned again in a moment. Without them the
// plan for the others is a different one, as they count in spreads: what it launches only
// for pods for which that is early as well is left out.
func Plan(s *snapshot.Snapshot, solve func(*snapshot.Snapshot) *plan.Plan) (answer *plan.Plan, waits bool) {
	answer = solve(s)
	aside := early(s, answer)
	if len(aside) == 0 {
		return answer, false
	}
	without := *s
	without.Pending = slices.DeleteFunc(slices.Clone(s.Pending), func(p *snapshot.Pod) bool { return aside[p] })
	answer = solve(&without)
	aside = early(&without, answer)
	answer.NewNodes = slices.DeleteFunc(answer.NewNodes, func(n plan.NewNode) bool {
		return !slices.ContainsFunc(n.Pods, func(p *snapshot.Pod) bool { return !aside[p] })
	})
	return answer, true
}

// early are the pods for which a plan has new machines although they waited already
// when another plan was made whose machines kube-scheduler is still filling.
func early(s *snapshot.Snapshot, p *plan.Plan) map[*snapshot.Pod]bool {
	made := unsettled(s)
	if made.IsZero() {
		return nil
	}
	out := map[*snapshot.Pod]bool{}
	for i := range p.NewNodes {
		for _, pod := range p.NewNodes[i].Pods {
			if _, refused := DisagreementOf(pod); !refused && pod.Spec.NodeName == "" && !pod.CreationTimestamp.After(made) {
				out[pod] = true
			}
		}
	}
	return out
}

// unsettled is when the latest of the plans was made whose machines are being filled,
// zero if there are none.
func unsettled(s *snapshot.Snapshot) time.Time {
	type filling struct{ made, opened, bound time.Time }
	plans := map[string]*filling{}
	for _, n := range s.Nodes {
		if n.Claim == nil || !n.Registered() {
			continue
		}
		opened := s.Now // the claim will say so in a moment
		if n.Claim.Is(snapshot.Registered) {
			opened = n.Claim.Conditions[snapshot.Registered].Since
		}
		id := n.Claim.Annotations[PlanAnnotation]
		if id == "" {
			id = n.Claim.Name // a plan of one machine
		}
		f := plans[id]
		if f == nil {
			f = &filling{}
			plans[id] = f
		}
		f.made, f.opened = latest(f.made, n.Claim.Created), latest(f.opened, opened)
		if s.Now.Before(opened.Add(Unrest)) {
			f.bound = latest(f.bound, lastBound(n))
		}
	}
	var made time.Time
	for _, f := range plans {
		if s.Now.Before(f.opened.Add(Unrest)) && (s.Now.Before(latest(f.opened, f.bound).Add(Quiet)) || untried(s, f.made, f.opened)) {
			made = latest(made, f.made)
		}
	}
	return made
}

// untried reports whether kube-scheduler has not spoken of one of the pods that a plan
// counted on since its last machine began to take pods. What it says of a pod changes
// when machines do, so it has not come to that pod yet.
func untried(s *snapshot.Snapshot, made, opened time.Time) bool {
	return slices.ContainsFunc(planned(s), func(p *snapshot.Pod) bool {
		_, refused := DisagreementOf(p)
		return !refused && s.Nominated[key(p)] != "" && p.Spec.NodeName == "" && !p.CreationTimestamp.After(made) && spoken(p).Before(opened)
	})
}

// lastBound is when the last of the pods that waited when a machine was planned was
// bound to it.
func lastBound(n *snapshot.Node) time.Time {
	var at time.Time
	for _, p := range n.Pods {
		if c := condition(p.Pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionTrue && !p.CreationTimestamp.After(n.Claim.Created) {
			at = latest(at, c.LastTransitionTime.Time)
		}
	}
	return at
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
