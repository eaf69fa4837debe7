package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/target"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// going finds the Node of a name that is being taken away, nil if it is not.
func (in *inventory) going(kind, name string) *corev1.Node {
	for i := range in.nodes {
		n := &in.nodes[i]
		claim := in.claimOf(n)
		asked := kind == target.Node && n.Name == name || kind == target.Claim && claim != nil && claim.Name == name
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
	if err := in.add(ctx, reader, &policyv1.PodDisruptionBudgetList{}, &storagev1.VolumeAttachmentList{}, &storagev1.CSIDriverList{}); err != nil {
		return drain.View{}, err
	}
	s := in.store.Snapshot(in.now, nil)
	v := drain.View{
		Now: in.now, Node: &snapshot.Node{Name: node.Name, Object: node, Claim: in.claimOf(node)},
		Budgets: eviction.NewBudgets(s.PDBs), Volumes: s.Volumes,
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
	if v.Ends, err = drain.Ends(v.Node.Claim); err != nil {
		return drain.View{}, err
	}
	if v.Jobs, err = in.hookJobs(ctx, reader, v); err != nil {
		return drain.View{}, err
	}
	// The store leaves out pods that have ended; a drain may wait for those.
	var pods corev1.PodList
	if err := reader.List(ctx, &pods); err != nil {
		return drain.View{}, fmt.Errorf("listing pods: %w", err)
	}
	for i := range in.nodes {
		if o := &in.nodes[i]; o.Name != node.Name && o.Spec.ProviderID != "" && o.Spec.ProviderID == node.Spec.ProviderID {
			v.Others = append(v.Others, &snapshot.Node{Name: o.Name, Object: o})
		}
	}
	for _, n := range append([]*snapshot.Node{v.Node}, v.Others...) {
		v.Attachments = append(v.Attachments, s.Volumes.Attachments[n.Name]...)
		for i := range pods.Items {
			if pods.Items[i].Spec.NodeName == n.Name {
				n.Pods = append(n.Pods, &snapshot.Pod{Pod: &pods.Items[i]})
			}
		}
		slices.SortFunc(n.Pods, func(a, b *snapshot.Pod) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	return v, nil
}

// hookJobs are the Jobs that the policy's hooks may wait for.
func (in *inventory) hookJobs(ctx context.Context, reader client.Reader, v drain.View) ([]*batchv1.Job, error) {
	if !slices.ContainsFunc(v.Policy.Hooks, func(h snapshot.Hook) bool { return h.JobNamespace != "" }) {
		return nil, nil
	}
	var list batchv1.JobList
	err := reader.List(ctx, &list, client.MatchingLabels{snapshot.HookNodeLabel: v.Node.Name})
	if apierrors.IsForbidden(err) {
		in.unread = append(in.unread, fmt.Sprintf("%T", &list))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the Jobs of hooks: %w", err)
	}
	return drain.HookJobs(list.Items), nil
}
