package termination

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// removal is one pass over one Node.
type removal struct {
	deps     loop.Deps
	turns    *turns
	answers  *answers
	failing  *loop.Attempts
	budgets  *eviction.Budgets // of the latest view
	node     *corev1.Node
	others   []*corev1.Node    // of the same instance
	claim    *karpv1.NodeClaim // nil if there is none
	deadline time.Time
	ends     time.Time
	machine  drain.Machine
}

// advance carries out steps until one has to wait. The phases only move forward,
// so it comes to an end.
func (r *removal) advance(ctx context.Context) (reconcile.Result, error) {
	for {
		view, err := r.view(ctx)
		if err != nil {
			return reconcile.Result{}, err
		}
		step, err := r.decide(ctx, view)
		if err != nil {
			return reconcile.Result{}, err
		}
		if err := r.note(ctx, view, step); err != nil {
			return reconcile.Result{}, err
		}
		waits, err := r.carryOut(ctx, step)
		if left := r.failing.Left(loop.RequestFor(r.node)); err == nil && left > 0 {
			return reconcile.Result{RequeueAfter: left}, nil
		}
		if err != nil || waits {
			return loop.Until(view.Now, step.Wake), err
		}
		if step.Phase == drain.Finish {
			return reconcile.Result{}, nil
		}
	}
}

// decide looks closer where it matters: before the machine is ended, and where a
// volume is stuck that the cloud may know more about.
func (r *removal) decide(ctx context.Context, v drain.View) (drain.Step, error) {
	step := drain.Next(v)
	switch {
	case step.Phase == drain.Terminate:
		return r.lookAgain(ctx, v)
	case step.Stuck():
		v.Cloud = r.cloudVolumes(ctx)
		return drain.Next(v), nil
	}
	return step, nil
}

// carryOut does what the phase asks for and reports whether to wait afterwards.
func (r *removal) carryOut(ctx context.Context, step drain.Step) (waits bool, err error) {
	switch step.Phase {
	case drain.Cordon:
		return false, r.change(ctx, drain.ApplyCordon)
	case drain.Drain:
		return true, r.evict(ctx, step)
	case drain.PreDrain, drain.Detach, drain.PreTerminate:
		return true, nil
	case drain.Terminate:
		return r.terminate(ctx)
	case drain.Release:
		now := r.deps.Clock.Now()
		return true, r.change(ctx, func(n *corev1.Node) { drain.MarkOutOfService(n, now) })
	}
	_, err = r.deps.Writer.Node(ctx, r.node, func(n *corev1.Node) {
		n.Finalizers = slices.DeleteFunc(n.Finalizers, func(f string) bool { return f == lifecycle.Finalizer })
	})
	if err == nil {
		r.count()
	}
	return false, err
}

// change changes every Node of the instance.
func (r *removal) change(ctx context.Context, change func(*corev1.Node)) error {
	var err error
	for i, o := range r.others {
		if r.others[i], err = r.deps.Writer.Node(ctx, o, change); err != nil {
			return err
		}
	}
	r.node, err = r.deps.Writer.Node(ctx, r.node, change)
	return err
}

// terminate tells the cloud to end the machine, again and again until it is gone.
func (r *removal) terminate(ctx context.Context) (waits bool, err error) {
	id := r.providerID()
	err = r.deps.Provider.Terminate(ctx, id)
	switch {
	case errors.Is(err, cloud.ErrNotFound):
		r.machine = drain.Gone
		return false, nil
	case err != nil:
		r.failed(ctx, fmt.Errorf("terminating %s: %w", id, err))
		return true, refused(ctx, r.deps, r.claim, err, r.node)
	}
	r.failing.Forget(loop.RequestFor(r.node))
	if r.claim != nil {
		r.claim, err = terminating(ctx, r.deps, r.claim)
	}
	return true, err
}

func (r *removal) failed(ctx context.Context, err error) reconcile.Result {
	return failed(ctx, r.failing, loop.RequestFor(r.node), r.providerID(), err, r.keys())
}

// keys name the machine in the log.
func (r *removal) keys() []any {
	if r.claim == nil {
		return nil
	}
	return r.deps.MachineKeys(r.claim)
}

// providerID names the machine; empty if the Node never had one.
func (r *removal) providerID() string {
	if r.node.Spec.ProviderID == "" && r.claim != nil {
		return r.claim.Status.ProviderID
	}
	return r.node.Spec.ProviderID
}

// ask finds out what the cloud confirms about the machine of a Node that is not
// Ready, or was seen to have none any more: what a kubelet reported last stands for as long as
// it takes to miss it. A Node that never had a machine counts as one whose machine is gone.
func (r *removal) ask(ctx context.Context) (drain.Machine, error) {
	id := r.providerID()
	if id == "" {
		return drain.Gone, nil
	}
	if snapshot.Ready(r.node) && !drain.MarkedOutOfService(r.node) {
		return drain.Exists, nil
	}
	instance, err := r.deps.Provider.Get(ctx, id)
	switch {
	case errors.Is(err, cloud.ErrNotFound):
		return drain.Gone, nil
	case err != nil:
		return drain.Exists, fmt.Errorf("looking up %s: %w", id, err)
	case instance.State == cloud.Stopped, instance.State == cloud.Stopping:
		return drain.Stopped, nil
	}
	return drain.Exists, nil
}

// view is what the cluster's state says about the Node.
func (r *removal) view(ctx context.Context) (drain.View, error) {
	now := r.deps.Clock.Now()
	s := r.deps.Store.Snapshot(now, nil)
	nodes, err := r.nodes(ctx, r.deps.Client, client.UnsafeDisableDeepCopy)
	if err != nil {
		return drain.View{}, err
	}
	node := nodes[0]
	if r.claim != nil {
		node.Claim = cluster.Claim(r.claim)
	}
	var attachments []*storagev1.VolumeAttachment
	for _, n := range nodes {
		attachments = append(attachments, s.Volumes.Attachments[n.Name]...)
	}
	policy := r.policy()
	jobs, err := r.jobs(ctx, policy.Hooks)
	if err != nil {
		return drain.View{}, err
	}
	r.budgets = eviction.NewBudgets(s.PDBs)
	return drain.View{
		Now: now, Node: node, Others: nodes[1:], Budgets: r.budgets, Answers: r.answers.of(r.node.Name), Volumes: s.Volumes,
		Attachments: attachments, Waiting: drain.Waiting(s, r.node.Name),
		Deadline: r.deadline, Ends: r.ends, Machine: r.machine, Policy: policy, DaemonSets: s.DaemonSets, Jobs: jobs,
	}, nil
}

// jobs are those that hooks may wait for, by namespace and name.
func (r *removal) jobs(ctx context.Context, hooks []snapshot.Hook) ([]*batchv1.Job, error) {
	if !slices.ContainsFunc(hooks, func(h snapshot.Hook) bool { return h.JobNamespace != "" }) {
		return nil, nil
	}
	var list batchv1.JobList
	if err := r.deps.Client.List(ctx, &list, client.MatchingLabels{snapshot.HookNodeLabel: r.node.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Jobs that %s waits for: %w", r.node.Name, err)
	}
	return drain.HookJobs(list.Items), nil
}

// policy is that of the machine's pool.
func (r *removal) policy() snapshot.Termination {
	return r.deps.Store.Policy(r.node.Labels[karpv1.NodePoolLabelKey]).Termination
}

// nodes are those of the instance with their pods, the one that is being removed first. A
// snapshot leaves out pods that have ended; a drain may wait for those.
func (r *removal) nodes(ctx context.Context, from client.Reader, options ...client.ListOption) ([]*snapshot.Node, error) {
	var out []*snapshot.Node
	for _, n := range append([]*corev1.Node{r.node}, r.others...) {
		pods, err := pods(ctx, n.Name, from, options...)
		if err != nil {
			return nil, err
		}
		out = append(out, &snapshot.Node{Name: n.Name, Object: n, Pods: pods})
	}
	return out, nil
}

// pods are those on a Node, by namespace and name.
func pods(ctx context.Context, node string, from client.Reader, options ...client.ListOption) ([]*snapshot.Pod, error) {
	var list corev1.PodList
	if err := from.List(ctx, &list, append(options, client.MatchingFields{loop.PodNode: node})...); err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", node, err)
	}
	out := make([]*snapshot.Pod, len(list.Items))
	for i := range list.Items {
		out[i] = &snapshot.Pod{Pod: &list.Items[i]}
	}
	slices.SortFunc(out, func(a, b *snapshot.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// lookAgain decides once more, on the pods and attachments that the API server and
// the cloud have at this moment.
func (r *removal) lookAgain(ctx context.Context, v drain.View) (drain.Step, error) {
	nodes, err := r.nodes(ctx, r.deps.Live)
	if err != nil {
		return drain.Step{}, err
	}
	nodes[0].Claim = v.Node.Claim
	var attachments storagev1.VolumeAttachmentList
	if err := r.deps.Live.List(ctx, &attachments); err != nil {
		return drain.Step{}, fmt.Errorf("listing VolumeAttachments: %w", err)
	}
	v.Node, v.Others, v.Attachments = nodes[0], nodes[1:], nil
	for i := range attachments.Items {
		if slices.ContainsFunc(nodes, func(n *snapshot.Node) bool { return n.Name == attachments.Items[i].Spec.NodeName }) {
			v.Attachments = append(v.Attachments, &attachments.Items[i])
		}
	}
	v.Cloud = r.cloudVolumes(ctx)
	return drain.Next(v), nil
}
