package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// explainDrain writes what a machine that is being taken away waits for, and
// reports whether the name is one of such a machine.
func (in *inventory) explainDrain(ctx context.Context, reader client.Reader, b *strings.Builder, kind, name string) (bool, error) {
	node := in.going(kind, name)
	if node == nil {
		return false, nil
	}
	v, err := in.drainView(ctx, reader, node)
	if err != nil {
		return false, err
	}
	writeDrain(b, v, drain.Next(v))
	return true, nil
}

// going finds the Node of a name that is being taken away, nil if it is not.
func (in *inventory) going(kind, name string) *corev1.Node {
	for i := range in.nodes {
		n := &in.nodes[i]
		claim := in.claimOf(n)
		asked := kind == kindNode && n.Name == name || kind == kindClaim && claim != nil && claim.Name == name
		leaving := n.DeletionTimestamp != nil || claim != nil && !claim.Deleted.IsZero()
		if asked && leaving && slices.Contains(n.Finalizers, lifecycle.Finalizer) {
			return n
		}
	}
	return nil
}

func (in *inventory) claimOf(n *corev1.Node) *snapshot.Claim {
	i := slices.IndexFunc(in.claims, func(c *snapshot.Claim) bool { return in.isNode(c, n.Name) })
	if i < 0 {
		return nil
	}
	return in.claims[i]
}

// drainView is what the controller would see, but for the cloud: that a machine is
// gone is known here from the mark that follows.
func (in *inventory) drainView(ctx context.Context, reader client.Reader, node *corev1.Node) (drain.View, error) {
	for _, list := range []client.ObjectList{&policyv1.PodDisruptionBudgetList{}, &storagev1.VolumeAttachmentList{}, &storagev1.CSIDriverList{}} {
		if err := in.add(ctx, reader, list); err != nil {
			return drain.View{}, err
		}
	}
	s := in.store.Snapshot(in.now, nil)
	v := drain.View{
		Now: in.now, Node: &snapshot.Node{Name: node.Name, Object: node, Claim: in.claimOf(node)},
		Budgets: eviction.NewBudgets(s.PDBs), Volumes: s.Volumes, Attachments: s.Volumes.Attachments[node.Name],
		Waiting: drain.Waiting(s, node.Name), DaemonSets: s.DaemonSets,
		Policy: in.store.Policy(node.Labels[snapshot.PoolLabel]).Termination,
	}
	if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == drain.OutOfService.Key }) {
		v.Machine = drain.Gone
	}
	var err error
	if v.Deadline, err = drain.Deadline(v.Node.Claim); err != nil {
		return drain.View{}, err
	}
	// The store leaves out pods that have ended; a drain may wait for those.
	var pods corev1.PodList
	if err := reader.List(ctx, &pods); err != nil {
		return drain.View{}, fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == node.Name {
			v.Node.Pods = append(v.Node.Pods, &snapshot.Pod{Pod: &pods.Items[i]})
		}
	}
	slices.SortFunc(v.Node.Pods, func(a, b *snapshot.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return v, nil
}

// phaseText says what a phase does.
var phaseText = map[drain.Phase]string{
	drain.Cordon: "it is about to be tainted", drain.Drain: "its pods leave", drain.Detach: "its volumes are detached",
	drain.Terminate: "the cloud ends the machine", drain.Release: "the machine is gone, and Kubernetes lets go of what was on it",
	drain.Finish: "the machine is gone, and the Node goes",
}

func writeDrain(b *strings.Builder, v drain.View, step drain.Step) {
	fmt.Fprintf(b, "node/%s is being taken away since %s: %s.\n", v.Node.Name, stamp(leavingSince(v.Node)), phaseText[step.Phase])
	if v.Deadline.IsZero() {
		b.WriteString("It has no deadline: what it waits for is waited for however long that takes.\n")
	} else {
		fmt.Fprintf(b, "Its deadline is %s: nothing is waited for after it.\n", stamp(v.Deadline))
	}
	checks(b, "Pods", step.Pods)
	checks(b, "Volumes", step.Volumes)
	cloudSays(b, v, step)
	if blocked := step.Blocked(); len(blocked) > 0 {
		b.WriteString("\nWhat would have to change:\n")
		for _, r := range blocked {
			fmt.Fprintf(b, "  %s: %s\n", r.Objects[0], r.Remedy())
		}
	}
	if len(step.Forgetful) > 0 {
		b.WriteString("\nTo mend, so that others keep these agents as well:\n")
		for _, r := range step.Forgetful {
			fmt.Fprintf(b, "  %s\n", r.Message())
		}
		b.WriteString("  Add to each:\n    " + strings.ReplaceAll(strings.TrimSpace(plan.Toleration), "\n", "\n    ") + "\n")
	}
}

// cloudSays tells of volumes that only the cloud still has attached, as the
// controller found them: the cloud is not asked from here.
func cloudSays(b *strings.Builder, v drain.View, step drain.Step) {
	if v.Node.Claim == nil || step.Phase != drain.Terminate {
		return
	}
	if c := v.Node.Claim.Conditions[snapshot.VolumesDetached]; c.Status == corev1.ConditionUnknown && c.Message != "" {
		fmt.Fprintf(b, "\nThe controller says: %s\n", c.Message)
	}
}

// checks lists what is waited for first.
func checks(b *strings.Builder, title string, list []drain.Verdict) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, waits := range []bool{true, false} {
		for _, x := range list {
			if x.Waits != waits {
				continue
			}
			mark := "[x]"
			if waits {
				mark = "[ ]"
			}
			fmt.Fprintf(b, "  %s %s\n", mark, x.Message())
		}
	}
}

// leavingSince is when somebody asked for the machine's removal first.
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
