package explain

import (
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/millwright-dev/millwright/engine/buffer"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const gate = "open the gate: --feature-gates CapacityBuffer=true, in the chart settings.featureGates.capacityBuffer"

// Counts reports whether a controller has taken up a buffer: behind a gate that is shut, none
// says anything in its status.
func Counts(o *bufferv1beta1.CapacityBuffer) bool {
	return apimeta.FindStatusCondition(o.Status.Conditions, buffer.ReadyForProvisioning) != nil
}

// Buffer says for how many chunks of a buffer there is room and where, and why not for more.
func (c *Cluster) Buffer(o *bufferv1beta1.CapacityBuffer) *Answer {
	ref := plan.ObjectRef{Kind: "CapacityBuffer", Namespace: o.Namespace, Name: o.Name}
	a := &Answer{Object: ref, Verdict: NotReady, Reasons: []plan.Reason{}, Fixes: []Fix{}}
	i := slices.IndexFunc(c.s.Buffers, func(b *snapshot.Buffer) bool { return b.Namespace == o.Namespace && b.Name == o.Name })
	switch {
	case !Counts(o):
		a.say(fmt.Sprintf("%s counts for nothing: no controller has said anything in its status.", ref))
		a.Fixes = append(a.Fixes, Fix{What: gate})
		return a
	case i < 0:
		a.say(fmt.Sprintf("%s is left to others: its strategy is another than %s.", ref, bufferv1beta1.ActiveProvisioningStrategy))
		return a
	}
	b := c.s.Buffers[i]
	if b.Chunk == nil {
		a.say(fmt.Sprintf("%s keeps no room (%s): %s.", ref, b.Reason, b.Fault))
		a.Fixes = append(a.Fixes, Fix{What: fmt.Sprintf("%s: correct spec, or create what it names", ref)})
		return a
	}
	state := c.bufferState(b)
	a.Verdict = ExistingNode
	a.say(fmt.Sprintf("%s has room for %d of %s.", ref, state.Existing, plan.Count(b.Count, "chunk")))
	if most := o.Spec.Replicas; most != nil && int(*most) > b.Count {
		a.say(fmt.Sprintf("spec.replicas asks for %d; no more than %d fit into spec.limits.", *most, b.Count))
	}
	if state.New > 0 {
		a.Verdict = NeedsNode
		a.say(fmt.Sprintf("For %d new nodes are needed, which are not being launched yet.", state.New))
	}
	if beyond := b.Count - state.Existing - state.New - state.Unplaced; beyond > 0 {
		a.say(fmt.Sprintf("%d are not planned for, as %d chunks are the most in a cluster.", beyond, snapshot.MostExpected))
	}
	a.detail = c.rooms(b)
	if state.Unplaced > 0 {
		a.Verdict = Unplaced
		a.say(fmt.Sprintf("%d cannot be placed.", state.Unplaced))
		a.detail += "No room for the others:\n  " + strings.Join(plan.Messages(state.Reasons, shown), "\n  ") + "\n"
		a.blame(state.Reasons)
		a.trim()
	}
	a.report(o, buffer.Conditions(b, state))
	return a
}

func (c *Cluster) bufferState(b *snapshot.Buffer) plan.BufferState {
	for _, s := range c.plan.Buffers() {
		if s.Buffer == b {
			return s
		}
	}
	return plan.BufferState{Buffer: b}
}

// rooms are the machines that have room for chunks of a buffer, or would have it.
func (c *Cluster) rooms(b *snapshot.Buffer) string {
	var where []string
	chunks := map[string]int{}
	add := func(pod *snapshot.Pod, format string, args ...any) {
		if pod.Buffer != b {
			return
		}
		on := fmt.Sprintf(format, args...)
		if chunks[on]++; chunks[on] == 1 {
			where = append(where, on)
		}
	}
	for _, at := range c.plan.Expected {
		if at.Node.Object == nil {
			add(at.Pod, "nodeclaim/%s, which is being launched", at.Node.Claim.Name)
		} else {
			add(at.Pod, "node/%s", at.Node.Name)
		}
	}
	for i := range c.plan.NewNodes {
		n := &c.plan.NewNodes[i]
		key := n.Choice.Key()
		for _, pod := range n.Expected {
			add(pod, "a new node of nodepool/%s: %s in %s, %s", n.Pool, key.Type, key.Zone, key.CapacityType)
		}
	}
	if len(where) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("Room:\n")
	for _, on := range where[:min(shown, len(where))] {
		fmt.Fprintf(&out, "  %3d on %s\n", chunks[on], on)
	}
	if more := len(where) - shown; more > 0 {
		fmt.Fprintf(&out, "  and on %d more\n", more)
	}
	return out.String()
}

// report adds what the status says of the room, if that is not what holds now.
func (a *Answer) report(o *bufferv1beta1.CapacityBuffer, now []buffer.Condition) {
	said := apimeta.FindStatusCondition(o.Status.Conditions, buffer.Provisioning)
	if said == nil {
		return
	}
	a.Since = said.LastTransitionTime.UTC()
	text := fmt.Sprintf("Its condition %s has been %s since %s", said.Type, said.Status, Stamp(a.Since))
	if last := now[len(now)-1]; last.Reason != said.Reason || last.Message != said.Message {
		text += fmt.Sprintf(", and said last (%s): %s", said.Reason, said.Message)
		a.Fixes = append(a.Fixes, Fix{What: "if its status stays as it is, " + gate})
	}
	a.say(text + ".")
}
