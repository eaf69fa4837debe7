package disruption

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/disruption/ledger"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// consenting asks, where the policy denies by default, whether the pods that would have to
// move agree to it, or the Node does.
func consenting(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	const agrees = "false"
	if !e.s.Pool(n.Claim.Pool).Policy.Disruption.DefaultDeny || n.Object.Annotations[eviction.DoNotDisruptAnnotation] == agrees {
		return plan.Reason{}, false
	}
	for _, p := range n.Pods {
		if eviction.Reschedulable(p.Pod) && p.Annotations[eviction.DoNotDisruptAnnotation] != agrees {
			return plan.Reason{Code: plan.NotAgreed, Objects: append([]plan.ObjectRef{podRef(p.Pod)}, poolRef(e.s.Pool(n.Claim.Pool))...)}, true
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
	for _, p := range n.Pods {
		if !eviction.Reschedulable(p.Pod) {
			continue
		}
		since := e.latestStarts()[workload(p)]
		if until := since.Add(rest); !since.IsZero() && e.s.Now.Before(until) && until.After(r.Until) {
			r.Objects, r.Since, r.Until = []plan.ObjectRef{podRef(p.Pod)}, since, until
		}
	}
	return r, len(r.Objects) > 0
}

// latestStarts maps each workload to when the youngest of its pods was started.
func (e *examiner) latestStarts() map[string]time.Time {
	if e.started != nil {
		return e.started
	}
	e.started = map[string]time.Time{}
	for _, n := range e.s.Nodes {
		for _, p := range n.Pods {
			if w, at := workload(p), p.Status.StartTime; w != "" && at != nil && at.After(e.started[w]) {
				e.started[w] = at.Time
			}
		}
	}
	return e.started
}

// workload is a pod's controller, empty if it has none.
func workload(p *snapshot.Pod) string {
	owner := metav1.GetControllerOf(p.Pod)
	if owner == nil {
		return ""
	}
	return p.Namespace + "/" + owner.Kind + "/" + owner.Name
}

// notLooping keeps the machines of a pool in which what is removed comes back.
func notLooping(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	l, known := e.loops[p.Name]
	if !known {
		own := slices.DeleteFunc(slices.Clone(e.s.Nodes), func(m *snapshot.Node) bool { return m.Claim == nil || m.Claim.Pool != p.Name })
		kind, until, found := ledger.Looping(p, own, e.s.Now)
		l = loop{plan.Reason{Code: plan.LoopDetected, Objects: poolRef(p), Have: kind, Until: until}, found}
		e.loops[p.Name] = l
	}
	return l.reason, l.found
}

// loop is whether a pool has one.
type loop struct {
	reason plan.Reason
	found  bool
}

// undone says that a move would take an earlier one back.
func (d *decider) undone(n *snapshot.Node, m consolidate.Move) (plan.Reason, bool) {
	var launch []catalog.Choice
	for i := range m.Launch {
		launch = append(launch, m.Launch[i].Choice)
	}
	kind, until, undone := ledger.Undone(d.s.Pool(n.Claim.Pool), m.Nodes, launch, d.s.Now)
	return plan.Reason{Code: plan.WouldUndo, Objects: refs(n), Have: kind, Until: until}, undone
}

// minimum is what a consolidation of a pool's machines must save.
func (d *decider) minimum(p *snapshot.Pool) consolidate.Minimum {
	policy := p.Policy.Disruption.Defaulted()
	return consolidate.Minimum{
		Saving: policy.MinSaving, SpotSaving: policy.MinSpotSaving, SpotTypes: policy.MinSpotTypes,
		Payback: policy.PaybackTime, PodCost: policy.PodMoveCost, StartUp: d.startUp(p),
	}
}

// startUp is how long the machines of a pool took from their claims to Initialized, the
// median of those that are there.
func (d *decider) startUp(p *snapshot.Pool) time.Duration {
	var took []time.Duration
	for _, n := range d.s.Nodes {
		if n.Pool() == p.Name && n.Claim != nil && n.Claim.Is(snapshot.Initialized) {
			took = append(took, n.Claim.Conditions[snapshot.Initialized].Since.Sub(n.Claim.Created))
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// Note is what a pool has to remember when the machines of commands go; nil if it is
// nothing.
func Note(s *snapshot.Snapshot, commands []Command, p *snapshot.Pool) []snapshot.PoolMove {
	var e ledger.Entry
	for _, c := range commands {
		if c.Step != Remove || c.Cause.Urgent() {
			continue
		}
		before := len(e.Gone)
		for _, n := range c.Nodes {
			if n.Claim.Pool != p.Name {
				continue
			}
			e.Pods += movers(n)
			if c.Cause == Underutilized {
				e.Gone = append(e.Gone, n)
			}
		}
		for _, name := range c.Replacements {
			if n := s.Node(name); n != nil && len(e.Gone) > before {
				e.Came = append(e.Came, n)
			}
		}
	}
	if e.Pods == 0 {
		return nil
	}
	return ledger.Note(p, e, s.Now)
}
