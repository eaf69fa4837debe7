package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// shown is how many objects a message names.
const shown = 5

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
func pods(v View, r roster) Step {
	s := Step{Phase: Drain, Wake: v.Now.Add(recheck)}
	if left := v.Ends.Sub(v.Now); left > 0 { // one that should be gone and is not has time again
		s.Left = max(left.Truncate(time.Second), time.Second)
	}
	wave := waves
	for _, m := range r {
		if m.role == leaving {
			wave = min(wave, waveOf(m.pod))
		}
	}
	waits := false
	for _, m := range r {
		if m.role == ended {
			continue
		}
		verdict := s.decide(v, m, wave)
		s.Pods = append(s.Pods, verdict)
		waits = waits || verdict.Waits
	}
	slices.SortFunc(s.Evict, func(a, b *corev1.Pod) int {
		return cmp.Or(v.Answers[a.UID].At.Compare(v.Answers[b.UID].At), byValue(a, b))
	})
	s.pace(v, r)
	if waits {
		if !v.late() {
			s.by(v.Deadline)
		}
		s.Conditions = []plan.Condition{draining(s.progress(wave))}
		return s
	}
	if v.Node.Claim == nil || v.Node.Claim.Is(snapshot.Drained) {
		s.Phase = ""
		return s
	}
	return settle(v, s)
}

// pace takes back evictions of which the policy would have fewer at once.
func (s *Step) pace(v View, r roster) {
	most := v.Policy.MaxParallelEvictions
	if most == 0 {
		return
	}
	for _, m := range r {
		if _, asked := agreed(v, m.pod); m.role == leaving && (asked || eviction.Terminating(m.pod)) {
			most--
		}
	}
	most = max(0, most)
	if len(s.Evict) <= most {
		return
	}
	later := s.Evict[most:]
	s.Evict = s.Evict[:most]
	for i := range s.Pods {
		if s.Pods[i].Code == plan.EvictionPending && slices.ContainsFunc(later, func(p *corev1.Pod) bool { return plan.PodRef(p) == s.Pods[i].Objects[0] }) {
			s.Pods[i].Code, s.Pods[i].Want = plan.EvictionPaced, strconv.Itoa(v.Policy.MaxParallelEvictions)
		}
	}
}

// settle keeps an empty node for its minimum time.
func settle(v View, s Step) Step {
	if until := closedSince(v).Add(MinimumDrain); v.Now.Before(until) {
		s.Conditions = []plan.Condition{draining(plan.Reason{Code: plan.MinimumDrain}.Message())}
		s.by(until)
		return s
	}
	s.Phase = ""
	s.Conditions = []plan.Condition{{Type: snapshot.Drained, Status: corev1.ConditionTrue, Reason: snapshot.Drained}}
	return s
}

// closedSince is when the node began to keep pods off: when it was marked for disruption, or
// else when its drain began.
func closedSince(v View) time.Time {
	if c := v.Node.Claim.Conditions[snapshot.DisruptionReason]; c.Status == corev1.ConditionTrue {
		return c.Since
	}
	if began := drainBegan(v); !began.IsZero() {
		return began
	}
	return v.Now // it does now
}

// Blocked are the reasons why the step waits for something without a known
// end, the most stubborn first.
func (s Step) Blocked() []plan.Reason {
	var out []plan.Reason
	for _, list := range [][]Verdict{s.Hooks, s.Pods, s.Volumes} {
		for _, x := range list {
			if x.Waits && x.Remedy() != "" {
				out = append(out, x.Reason)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b plan.Reason) int { return cmp.Compare(transience(a), transience(b)) })
	return out
}

// transience orders blockers: those last that usually go away by themselves.
func transience(r plan.Reason) int {
	if r.Code == plan.PDBBlocks {
		return 1
	}
	return 0
}

// Waiting says how many pods the drain waits for, and what blocks it.
func (s Step) Waiting() string {
	waiting := 0
	for _, p := range s.Pods {
		if p.Waits {
			waiting++
		}
	}
	if waiting == 1 {
		return "1 pod is waiting to be evicted" + s.blockers()
	}
	return fmt.Sprintf("%d pods are waiting to be evicted%s", waiting, s.blockers())
}

// progress says how far the drain is without counting, so that the condition that
// it becomes is not written anew for every pod that leaves.
func (s Step) progress(w wave) string {
	if w == waves {
		return "every pod has ended" + s.blockers()
	}
	return w.String() + " pods are leaving" + s.blockers()
}

// blockers explains the first blocker and names the next ones.
func (s Step) blockers() string {
	list := s.Blocked()
	if len(list) == 0 {
		return ""
	}
	out := "; " + list[0].Message() + "; " + list[0].Remedy()
	if len(list) == 1 {
		return out
	}
	var names []string
	for _, r := range list[1:min(len(list), shown)] {
		names = append(names, r.Objects[0].String())
	}
	if len(list) > shown {
		names = append(names, "…")
	}
	return out + "; also " + strings.Join(names, ", ")
}

func draining(message string) plan.Condition {
	return plan.Condition{Type: snapshot.Drained, Status: corev1.ConditionUnknown, Reason: "Draining", Message: message}
}

// decide gives the verdict on one pod and notes what is to be done with it.
func (s *Step) decide(v View, m member, leaving wave) Verdict {
	r := plan.Reason{Objects: []plan.ObjectRef{plan.PodRef(m.pod)}}
	switch m.role {
	case mirror:
		r.Code = plan.MirrorPod
	case stays:
		r.Code = plan.PodStays
	case agent:
		r.Code, r.Have = plan.AgentStays, m.why
	case stuck:
		r.Code, r.Since = plan.PodStuck, m.pod.DeletionTimestamp.Time
	case held:
		r.Code, r.Since, r.Have = plan.PodHeld, m.pod.DeletionTimestamp.Time, strings.Join(m.pod.Finalizers, ", ")
	case leftBehind:
		r.Code, r.Since = plan.PodLeftBehind, v.Deadline
	default:
		r = s.leave(v, m.pod, leaving, r)
	}
	return Verdict{r, m.role.waits()}
}

// leave is for pods that have to go.
func (s *Step) leave(v View, p *corev1.Pod, leaving wave, r plan.Reason) plan.Reason {
	if until, asked := agreed(v, p); asked {
		s.by(until)
		r.Code = plan.EvictionPending
		return r
	}
	if overdue(v, p) {
		s.Delete = append(s.Delete, Deletion{Pod: p, Grace: max(v.Deadline.Sub(v.Now), time.Second)})
		r.Code, r.Until = plan.PodTerminating, v.Deadline
		return refused(v, p, r)
	}
	if eviction.Terminating(p) {
		s.by(eviction.StuckFrom(p))
		if v.late() {
			s.by(p.DeletionTimestamp.Time)
		}
		r.Code, r.Until = plan.PodTerminating, p.DeletionTimestamp.Time
		if !v.Now.Before(r.Until) {
			r.Until, r.Have = eviction.StuckFrom(p), "its grace period is over, and its kubelet has not reported its end"
		}
		return r
	}
	s.by(overdueFrom(v, p))
	if until, protected := eviction.Protected(p, v.Now); protected && !Ignores(v.Node.Claim, ProtectedPods) {
		s.by(until)
		r.Code, r.Until, r.Have = plan.DoNotDisrupt, until, p.Annotations[eviction.DoNotDisruptAnnotation]
		return r
	}
	if w := waveOf(p); w != leaving {
		r.Code, r.Want, r.Have = plan.LaterWave, w.String(), leaving.String()
		return r
	}
	if blocking := v.Budgets.Blocking(p); len(blocking) > 0 {
		if !Ignores(v.Node.Claim, GuardedPods) {
			return guarded(r, blocking)
		}
		s.Delete = append(s.Delete, Deletion{Pod: p, Grace: cmp.Or(s.Fitted(p), graceOf(p)), Unguarded: true})
		r.Code = plan.EvictionPending
		return refused(v, p, r)
	}
	s.Evict = append(s.Evict, p)
	r.Code = plan.EvictionPending
	if began := drainBegan(v); !began.IsZero() && p.CreationTimestamp.After(began) {
		r.Have = "it came after the drain began"
	}
	if r = refused(v, p, r); r.Code == plan.EvictionPending {
		s.by(v.Now.Add(evictAgain))
	}
	return r
}

// refused is the verdict on a pod that is asked for: what the API server said the last time,
// if it refused.
func refused(v View, p *corev1.Pod, r plan.Reason) plan.Reason {
	if words := v.Answers[p.UID].Words; words != "" {
		r.Code, r.Have, r.Until = plan.EvictionRefused, words, time.Time{}
	}
	return r
}

// agreed reports whether the API server has just agreed to take away a pod that is not shown to
// be ending yet, and until when it is not asked again.
func agreed(v View, p *corev1.Pod) (until time.Time, asked bool) {
	answer, ok := v.Answers[p.UID]
	until = answer.At.Add(evictAgain)
	return until, ok && answer.Words == "" && !eviction.Terminating(p) && v.Now.Before(until)
}

// guarded says how budgets hold a pod.
func guarded(r plan.Reason, blocking []*policyv1.PodDisruptionBudget) plan.Reason {
	r.Code = plan.PDBBlocks
	if len(blocking) > 1 {
		r.Code = plan.PDBConflict
	} else if demands, pods, never := eviction.Never(blocking[0]); never {
		r.Code, r.Want, r.Have = plan.PDBNeverAllows, strconv.Itoa(int(demands)), strconv.Itoa(int(pods))
	}
	for _, pdb := range blocking {
		r.Objects = append(r.Objects, plan.ObjectRef{Kind: "PodDisruptionBudget", Namespace: pdb.Namespace, Name: pdb.Name})
	}
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
	return v.Deadline.Add(-graceOf(p))
}

// graceOf is how long a pod asks to have for its end.
func graceOf(p *corev1.Pod) time.Duration {
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if p.Spec.TerminationGracePeriodSeconds != nil {
		grace = *p.Spec.TerminationGracePeriodSeconds
	}
	return time.Duration(grace) * time.Second
}
