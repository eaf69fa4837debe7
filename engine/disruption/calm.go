package disruption

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/consolidate"
	"github.com/millwright-dev/millwright/engine/disruption/headroom"
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
	for _, p := range n.Pods {
		if !eviction.Reschedulable(p.Pod) {
			continue
		}
		since := e.latestStarts()[workload(p)]
		if until := since.Add(rest); !since.IsZero() && e.s.Now.Before(until) && until.After(r.Until) {
			r.Objects, r.Since, r.Until = []plan.ObjectRef{plan.PodRef(p.Pod)}, since, until
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

// rested keeps machines that have been quiet for consolidateAfter, but not for as much
// longer as their pool has learned that what it removes comes back in.
func rested(e *examiner, n *snapshot.Node) (plan.Reason, bool) {
	p := e.s.Pool(n.Claim.Pool)
	l := e.learned(p)
	since := quietSince(n.Claim)
	until := since.Add(*p.Disruption.ConsolidateAfter + l.Rest)
	return plan.Reason{
		Code: plan.LoopDetected, Objects: poolRef(p), Have: l.Kind, Since: since, Until: until,
	}, l.Rest > 0 && e.s.Now.Before(until)
}

func (e *examiner) learned(p *snapshot.Pool) ledger.Lesson {
	l, known := e.lessons[p.Name]
	if !known {
		l = ledger.Learn(p, machinesOf(e.s.Nodes, p), e.s.Now)
		e.lessons[p.Name] = l
	}
	return l
}

// keepRoom looks at the room that pools have which must keep some.
func (d *decider) keepRoom() {
	d.rooms = map[string]*headroom.Room{}
	for _, p := range d.s.Pools {
		if l := d.learned(p); l.Again > 0 {
			d.rooms[p.Name] = headroom.New(machinesOf(d.world.Machines(), p), d.s.Now.Add(-l.Again), d.s.Now)
		}
	}
}

// needed keeps machines of pools that have learned that what they remove comes back,
// while there would be no room without them if as many pods started again as have, or a
// full hour is about to strike. If neither is so, they are gone as far as the next question
// is concerned.
func (d *decider) needed(nodes []*snapshot.Node, placements []plan.Placement, launch []plan.NewNode) (plan.Reason, bool) {
	left := maps.Clone(d.rooms)
	for _, p := range d.s.Pools {
		if d.rooms[p.Name] == nil || len(machinesOf(nodes, p)) == 0 {
			continue
		}
		l := d.learned(p)
		others := func(n plan.NewNode) bool { return n.Pool != p.Name }
		room, suffices := d.rooms[p.Name].Without(nodes, placements, slices.DeleteFunc(slices.Clone(launch), others))
		if !suffices {
			return plan.Reason{
				Code: plan.LoopDetected, Objects: poolRef(p), Have: l.Kind, Want: l.Again.String(), Since: room.First, Until: room.First.Add(l.Again),
			}, true
		}
		if until := l.Struck(d.s.Now); !until.IsZero() {
			return plan.Reason{Code: plan.LoopDetected, Objects: poolRef(p), Have: l.Kind, Until: until}, true
		}
		left[p.Name] = room
	}
	d.rooms = left
	return plan.Reason{}, false
}

func machinesOf(nodes []*snapshot.Node, p *snapshot.Pool) []*snapshot.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *snapshot.Node) bool { return n.Claim == nil || n.Claim.Pool != p.Name })
}

// undone says that a move would take an earlier one back.
func (d *decider) undone(n *snapshot.Node, m consolidate.Move) (plan.Reason, bool) {
	var launch []catalog.Choice
	for i := range m.Launch {
		launch = append(launch, m.Launch[i].Choice)
	}
	kind, until, undone := ledger.Undone(d.s.Pool(n.Claim.Pool), m.Nodes, launch, d.s.Now)
	return plan.Reason{Code: plan.WouldUndo, Objects: plan.MachineRefs(n), Have: kind, Until: until}, undone
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
			switch c.Cause {
			case Underutilized:
				e.Gone = append(e.Gone, n)
			case Empty:
				if !n.Claim.LastPodEvent.IsZero() { // else no pod has ever needed it
					e.Empty = append(e.Empty, n)
				}
			}
		}
		for _, name := range c.Replacements {
			if n := s.Node(name); n != nil && len(e.Gone) > before {
				e.Came = append(e.Came, n)
			}
		}
	}
	if e.Pods == 0 && len(e.Empty) == 0 {
		return nil
	}
	e.Live = machinesOf(s.Nodes, p)
	return ledger.Note(p, e, s.Now)
}
