package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// phaseText says what a phase does.
var phaseText = map[drain.Phase]string{
	drain.Cordon: "it is about to be cordoned", drain.PreDrain: "waiting for the policy's hooks before the drain",
	drain.Drain: "its pods are being evicted", drain.Detach: "its volumes are being detached",
	drain.PreTerminate: "waiting for the policy's hooks before the instance is terminated",
	drain.Terminate:    "the instance is to be terminated", drain.Release: "the instance is gone, and what was on it is being released",
	drain.Finish: "the instance is gone, and the Node is being deleted",
}

// Drain says what a machine that is being taken away waits for.
func Drain(v drain.View, step drain.Step) *Answer {
	a := &Answer{
		Object: plan.NodeRef(v.Node.Name), NodePool: v.Node.Pool(), Verdict: Leaving, Since: leavingSince(v.Node).UTC(),
		Deadline: v.Deadline.UTC(), Reasons: []plan.Reason{}, Fixes: []Fix{},
	}
	if v.Node.Claim != nil {
		a.NodeClaim = v.Node.Claim.Name
	}
	a.say(fmt.Sprintf("node/%s has been terminating since %s: %s.", v.Node.Name, Stamp(a.Since), phaseText[step.Phase]))
	if v.Deadline.IsZero() {
		a.say("It has no deadline.")
	} else {
		a.say(fmt.Sprintf("Its deadline is %s: after that it waits for nothing.", Stamp(v.Deadline)))
	}
	if !v.Ends.IsZero() {
		a.say(fmt.Sprintf("The cloud stops the instance at %s, whatever is left on it.", Stamp(v.Ends)))
	}
	a.check("Hooks", step.Hooks)
	a.check("Pods", step.Pods)
	a.check("Volumes", step.Volumes)
	a.reported(v.Node.Claim, step)
	for _, r := range step.Blocked() {
		a.Reasons = append(a.Reasons, r)
		a.Fixes = append(a.Fixes, Fix{What: fmt.Sprintf("%s: %s", r.Objects[0], r.Remedy())})
	}
	for _, r := range step.Forgetful {
		a.ToMend = append(a.ToMend, Fix{What: r.Message()})
	}
	if len(step.Forgetful) > 0 {
		a.ToMend = append(a.ToMend, Fix{What: "Add to each:", Commands: strings.Split(strings.TrimSpace(plan.Toleration), "\n")})
	}
	return a
}

// reported adds what only the controller has found out: volumes that the cloud still has
// attached, evictions that the API server refuses, and a cloud that does not end the instance.
func (a *Answer) reported(c *snapshot.Claim, step drain.Step) {
	if c == nil {
		return
	}
	of := map[drain.Phase]map[string]corev1.ConditionStatus{
		drain.Drain:     {snapshot.Drained: corev1.ConditionUnknown},
		drain.Terminate: {snapshot.VolumesDetached: corev1.ConditionUnknown, snapshot.InstanceTerminating: corev1.ConditionFalse},
	}[step.Phase]
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		found := c.Conditions[kind]
		known := slices.ContainsFunc(step.Conditions, func(is plan.Condition) bool { return is.Type == kind && strings.HasPrefix(is.Message, found.Message) })
		if found.Status == of[kind] && found.Message != "" && !known {
			a.paragraph("The controller reports: " + found.Message + "\n")
		}
	}
}

// check lists what is waited for first.
func (a *Answer) check(title string, list []drain.Verdict) {
	if len(list) == 0 {
		return
	}
	text := title + ":\n"
	for _, waits := range []bool{true, false} {
		for _, x := range list {
			if x.Waits == waits {
				text += fmt.Sprintf("  %s %s\n", mark[waits], x.Message())
				a.Waits = append(a.Waits, Wait{Of: title, Waits: waits, Message: x.Message()})
			}
		}
	}
	a.paragraph(text)
}

// paragraph adds to the detail.
func (a *Answer) paragraph(text string) {
	if a.detail != "" {
		a.detail += "\n"
	}
	a.detail += text
}

// leavingSince is when the machine's removal was first requested.
func leavingSince(n *snapshot.Node) time.Time {
	var out time.Time
	if n.Object.DeletionTimestamp != nil {
		out = n.Object.DeletionTimestamp.Time
	}
	if n.Claim != nil && !n.Claim.Deleted.IsZero() && (out.IsZero() || n.Claim.Deleted.Before(out)) {
		out = n.Claim.Deleted
	}
	return out
}
