package drain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// drainReserve is the least time before the end of a machine at which a hook gives
// way to the drain.
const drainReserve = time.Minute

// hooks is the step that waits for the policy's hooks at one point; its phase is
// empty if there is nothing to wait for, or no more.
func hooks(v View, point snapshot.HookPoint) Step {
	condition, phase := snapshot.DrainHooksPassed, PreDrain
	if point == snapshot.BeforeTermination {
		condition, phase = snapshot.TerminationHooksPassed, PreTerminate
	}
	s := Step{Wake: v.Now.Add(recheck)}
	since, over := hooksSince(v, point, condition)
	if over {
		return s
	}
	for _, h := range v.Policy.Hooks {
		if h.Before == point {
			verdict := v.hook(h, since)
			s.by(verdict.Until)
			s.Hooks = append(s.Hooks, verdict)
		}
	}
	if len(s.Hooks) == 0 {
		return s
	}
	c := plan.Condition{Type: condition, Status: corev1.ConditionTrue, Reason: "HooksPassed", Message: told(s.Hooks, plan.HookSkipped)}
	if slices.ContainsFunc(s.Hooks, func(x Verdict) bool { return x.Waits }) {
		s.Phase = phase
		c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "AwaitingHooks", told(s.Hooks, plan.HookPending, plan.HookOverdue)
	}
	s.Conditions = []plan.Condition{c}
	return s
}

// hooksSince is when the wait at a point began, and whether it is over. What the
// claim says of that holds; without a claim the wait began with the Node's removal.
func hooksSince(v View, point snapshot.HookPoint, condition string) (since time.Time, over bool) {
	claim := v.Node.Claim
	if claim == nil {
		return v.leaves(), false
	}
	begun := !drainBegan(v).IsZero()
	if point == snapshot.BeforeTermination {
		begun = claim.Is(snapshot.InstanceTerminating)
	}
	if begun || claim.Is(condition) {
		return time.Time{}, true
	}
	if c, noted := claim.Conditions[condition]; noted {
		return c.Since, false
	}
	return v.Now, false
}

// hook is the verdict on one.
func (v View) hook(h snapshot.Hook, since time.Time) Verdict {
	met, r := v.met(h)
	r.Since, r.Want = since, describe(h)
	end, hard := since.Add(h.Timeout), v.hookEnd(h.Before)
	switch {
	case met:
		r.Code, r.Since = plan.HookPassed, time.Time{}
	case !hard.IsZero() && !v.Now.Before(hard):
		r.Code, r.Have = plan.HookSkipped, "the machine has no time for it"
	case v.Now.Before(end):
		r.Code, r.Until = plan.HookPending, end
		if !hard.IsZero() && hard.Before(end) {
			r.Until = hard
		}
		if at := v.leaves().Add(h.Elapsed); h.Elapsed > 0 && at.Before(r.Until) {
			r.Until = at
		}
	case h.FailClosed:
		r.Code, r.Until = plan.HookOverdue, hard
	default:
		r.Code, r.Have = plan.HookSkipped, "its time is over"
	}
	return Verdict{r, r.Code == plan.HookPending || r.Code == plan.HookOverdue}
}

// hookEnd is when hooks at a point give way to the machine's own end, zero for never.
func (v View) hookEnd(point snapshot.HookPoint) time.Time {
	end := v.Deadline
	if end.IsZero() || !v.Ends.IsZero() && v.Ends.Before(end) {
		end = v.Ends
	}
	if end.IsZero() || point == snapshot.BeforeTermination {
		return end
	}
	reserve := drainReserve
	for _, m := range newRoster(v) {
		if m.role == leaving {
			reserve = max(reserve, graceOf(m.pod))
		}
	}
	return end.Add(-reserve)
}

// met reports whether what a hook waits for is there, and how it stands.
func (v View) met(h snapshot.Hook) (bool, plan.Reason) {
	node := v.Node.Object
	r := plan.Reason{Objects: []plan.ObjectRef{plan.NodeRef(node.Name)}}
	switch {
	case h.Annotation != "":
		value, there := node.Annotations[h.Annotation]
		r.Have = value
		return there && (h.Value == "" || h.Value == value), r
	case h.Condition != "":
		for _, c := range node.Status.Conditions {
			if c.Type == h.Condition {
				r.Have = string(c.Status)
			}
		}
		return r.Have == string(h.Status), r
	case h.Elapsed > 0:
		return !v.Now.Before(v.leaves().Add(h.Elapsed)), r
	}
	return v.jobDone(h, r)
}

// leaves is when the machine began to go: its claim or its Node was deleted.
func (v View) leaves() time.Time {
	out := v.Now
	if at := v.Node.Object.DeletionTimestamp; at != nil {
		out = at.Time
	}
	if claim := v.Node.Claim; claim != nil && !claim.Deleted.IsZero() && claim.Deleted.Before(out) {
		out = claim.Deleted
	}
	return out
}

// HookJobs are Jobs in the order that a View has them in.
func HookJobs(list []batchv1.Job) []*batchv1.Job {
	out := make([]*batchv1.Job, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	slices.SortFunc(out, func(a, b *batchv1.Job) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// jobDone is met for Jobs: one that is complete is enough.
func (v View) jobDone(h snapshot.Hook, r plan.Reason) (bool, plan.Reason) {
	for _, j := range v.Jobs {
		if j.Namespace != h.JobNamespace || j.Labels[snapshot.HookNameLabel] != h.Name || j.Labels[snapshot.HookNodeLabel] != v.Node.Object.Name {
			continue
		}
		state := jobState(j)
		r.Objects = append(r.Objects[:1], plan.ObjectRef{Kind: "Job", Namespace: j.Namespace, Name: j.Name})
		if r.Have = state; state == string(batchv1.JobComplete) {
			return true, r
		}
	}
	return false, r
}

func jobState(j *batchv1.Job) string {
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return string(c.Type)
		}
	}
	return "Running"
}

// describe says what a hook waits for.
func describe(h snapshot.Hook) string {
	switch {
	case h.Annotation != "" && h.Value != "":
		return h.Name + " (annotation " + h.Annotation + ": " + h.Value + ")"
	case h.Annotation != "":
		return h.Name + " (annotation " + h.Annotation + ")"
	case h.Condition != "":
		return h.Name + " (condition " + string(h.Condition) + "=" + string(h.Status) + ")"
	}
	if h.Elapsed > 0 {
		return h.Name + " (" + h.Elapsed.String() + " since it was taken out of load balancers)"
	}
	return h.Name + " (Job in namespace " + h.JobNamespace + " with label " + snapshot.HookNameLabel + ": " + h.Name + ")"
}

// told are the messages of the verdicts with one of some codes, and a remedy for the
// first that needs one.
func told(list []Verdict, codes ...plan.Code) string {
	var parts []string
	remedy := ""
	for _, x := range list {
		if slices.Contains(codes, x.Code) {
			parts = append(parts, x.Message())
			if remedy == "" {
				remedy = x.Remedy()
			}
		}
	}
	if remedy != "" {
		parts = append(parts, remedy)
	}
	return strings.Join(parts, "; ")
}
