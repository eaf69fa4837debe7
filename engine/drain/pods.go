package drain

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// wave orders the pods of a node; the lowest that has any leaves first.
type wave int

const (
	ordinary wave = iota
	ordinaryDaemon
	critical
	criticalDaemon
	waves
)

func (w wave) String() string {
	return [...]string{"ordinary", "ordinary daemon", "critical", "critical daemon", "none"}[w]
}

func waveOf(p *corev1.Pod) wave {
	switch critically, daemon := eviction.Critical(p), eviction.Daemon(p); {
	case critically && daemon:
		return criticalDaemon
	case critically:
		return critical
	case daemon:
		return ordinaryDaemon
	}
	return ordinary
}

// pods takes the drain one step further; its phase is Drain until it is over.
func pods(v View) Step {
	s := Step{Phase: Drain, Wake: v.Now.Add(recheck)}
	leaving := waves
	for _, p := range v.Node.Pods {
		if drainable(p.Pod, v.Now) {
			leaving = min(leaving, waveOf(p.Pod))
		}
	}
	waits := false
	for _, p := range v.Node.Pods {
		if eviction.Terminal(p.Pod) {
			continue
		}
		verdict := s.decide(v, p.Pod, leaving)
		s.Pods = append(s.Pods, verdict)
		waits = waits || verdict.Waits
	}
	if waits {
		s.Conditions = []plan.Condition{draining(s.Waiting())}
		return s
	}
	if v.Node.Claim == nil || v.Node.Claim.Is(snapshot.Drained) {
		s.Phase = ""
		return s
	}
	return settle(v, s)
}

// settle keeps an empty node for its minimum time.
func settle(v View, s Step) Step {
	began := drainBegan(v)
	if began.IsZero() { // it does now
		began = v.Now
	}
	if until := began.Add(MinimumDrain); v.Now.Before(until) {
		s.Conditions = []plan.Condition{draining(plan.Reason{Code: plan.MinimumDrain}.Message())}
		s.by(until)
		return s
	}
	s.Phase = ""
	s.Conditions = []plan.Condition{{Type: snapshot.Drained, Status: corev1.ConditionTrue, Reason: snapshot.Drained}}
	return s
}

// Waiting says how many pods the drain waits for, and names one that cannot leave
// by itself if there is any.
func (s Step) Waiting() string {
	waiting, blocker := 0, ""
	for _, p := range s.Pods {
		if !p.Waits {
			continue
		}
		waiting++
		switch p.Code {
		case plan.PDBBlocks, plan.PDBConflict, plan.DoNotDisrupt:
			if blocker == "" {
				blocker = "; " + p.Message()
			}
		}
	}
	if waiting == 1 {
		return "1 pod is waiting to be evicted" + blocker
	}
	return fmt.Sprintf("%d pods are waiting to be evicted%s", waiting, blocker)
}

func draining(message string) plan.Condition {
	return plan.Condition{Type: snapshot.Drained, Status: corev1.ConditionUnknown, Reason: "Draining", Message: message}
}

// drainable reports whether a pod has to leave before the machine may go.
func drainable(p *corev1.Pod, now time.Time) bool {
	return !eviction.Terminal(p) && !eviction.Stays(p) && !eviction.Mirror(p) && !eviction.Stuck(p, now)
}

// decide gives the verdict on one pod and notes what is to be done with it.
func (s *Step) decide(v View, p *corev1.Pod, leaving wave) Verdict {
	r := plan.Reason{Objects: []plan.ObjectRef{podRef(p)}}
	switch {
	case eviction.Mirror(p):
		r.Code = plan.MirrorPod
	case eviction.Stays(p):
		r.Code = plan.PodStays
	case eviction.Stuck(p, v.Now):
		r.Code, r.Since = plan.PodStuck, p.DeletionTimestamp.Time
	default:
		return Verdict{s.leave(v, p, leaving, r), true}
	}
	return Verdict{r, false}
}

// leave is for pods that have to go.
func (s *Step) leave(v View, p *corev1.Pod, leaving wave, r plan.Reason) plan.Reason {
	if overdue(v, p) {
		s.Delete = append(s.Delete, Deletion{p, max(v.Deadline.Sub(v.Now), time.Second)})
		r.Code, r.Until = plan.PodTerminating, v.Deadline
		return r
	}
	if eviction.Terminating(p) {
		s.by(eviction.StuckFrom(p))
		r.Code, r.Until = plan.PodTerminating, p.DeletionTimestamp.Time
		return r
	}
	s.by(overdueFrom(v, p))
	if until, protected := eviction.Protected(p, v.Now); protected {
		s.by(until)
		r.Code, r.Until, r.Have = plan.DoNotDisrupt, until, p.Annotations[eviction.DoNotDisruptAnnotation]
		return r
	}
	if w := waveOf(p); w != leaving {
		r.Code, r.Want, r.Have = plan.LaterWave, w.String(), leaving.String()
		return r
	}
	if blocking := v.Budgets.Blocking(p); len(blocking) > 0 {
		r.Code = plan.PDBBlocks
		if len(blocking) > 1 {
			r.Code = plan.PDBConflict
		}
		for _, pdb := range blocking {
			r.Objects = append(r.Objects, plan.ObjectRef{Kind: "PodDisruptionBudget", Namespace: pdb.Namespace, Name: pdb.Name})
		}
		return r
	}
	s.Evict = append(s.Evict, p)
	s.by(v.Now.Add(evictAgain))
	r.Code = plan.EvictionPending
	return r
}

// overdue reports whether a pod must be deleted now to be gone by the deadline
// with as much of its own grace period as there is left: one that is still
// running and needs that long, or one that is ending too slowly.
func overdue(v View, p *corev1.Pod) bool {
	if v.Deadline.IsZero() {
		return false
	}
	if eviction.Terminating(p) {
		soonest := v.Now.Add(time.Second)
		return p.DeletionTimestamp.After(v.Deadline) && p.DeletionTimestamp.After(soonest)
	}
	return !v.Now.Before(overdueFrom(v, p))
}

// overdueFrom is when a running pod becomes overdue, zero for never.
func overdueFrom(v View, p *corev1.Pod) time.Time {
	if v.Deadline.IsZero() {
		return time.Time{}
	}
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if p.Spec.TerminationGracePeriodSeconds != nil {
		grace = *p.Spec.TerminationGracePeriodSeconds
	}
	return v.Deadline.Add(-time.Duration(grace) * time.Second)
}

func podRef(p *corev1.Pod) plan.ObjectRef {
	return plan.ObjectRef{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
}
