package termination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	node     *corev1.Node
	claim    *karpv1.NodeClaim // nil if there is none
	deadline time.Time
	gone     bool // the cloud does not know the machine
}

// advance carries out steps until one has to wait. The phases only move forward,
// so it comes to an end.
func (r *removal) advance(ctx context.Context) (reconcile.Result, error) {
	for {
		view := r.view()
		step := drain.Next(view)
		if step.Phase == drain.Terminate {
			var err error
			if step, err = r.lookAgain(ctx, view); err != nil {
				return reconcile.Result{}, err
			}
		}
		if err := r.note(ctx, view, step); err != nil {
			return reconcile.Result{}, err
		}
		waits, err := r.carryOut(ctx, step)
		if err != nil || waits {
			return loop.Until(view.Now, step.Wake), err
		}
		if step.Phase == drain.Finish {
			return reconcile.Result{}, nil
		}
	}
}

// carryOut does what the phase asks for and reports whether to wait afterwards.
func (r *removal) carryOut(ctx context.Context, step drain.Step) (waits bool, err error) {
	switch step.Phase {
	case drain.Cordon:
		r.node, err = r.deps.Writer.Node(ctx, r.node, drain.ApplyCordon)
		return false, err
	case drain.Drain:
		return true, r.evict(ctx, step)
	case drain.Detach:
		return true, nil
	case drain.Terminate:
		return r.terminate(ctx)
	}
	_, err = r.deps.Writer.Node(ctx, r.node, func(n *corev1.Node) {
		n.Finalizers = slices.DeleteFunc(n.Finalizers, func(f string) bool { return f == lifecycle.Finalizer })
	})
	if err == nil {
		r.count()
	}
	return false, err
}

// terminate tells the cloud to end the machine, again and again until it is gone.
func (r *removal) terminate(ctx context.Context) (waits bool, err error) {
	id := r.providerID()
	err = r.deps.Provider.Terminate(ctx, id)
	switch {
	case errors.Is(err, cloud.ErrNotFound):
		r.gone = true
		return false, nil
	case err != nil:
		return false, fmt.Errorf("terminating %s: %w", id, err)
	}
	if r.claim != nil {
		r.claim, err = terminating(ctx, r.deps, r.claim)
	}
	return true, err
}

// providerID names the machine; empty if the Node never had one.
func (r *removal) providerID() string {
	if r.node.Spec.ProviderID == "" && r.claim != nil {
		return r.claim.Status.ProviderID
	}
	return r.node.Spec.ProviderID
}

// vanished reports whether the cloud no longer knows the machine of a Node that
// is not Ready, or the Node never had one.
func (r *removal) vanished(ctx context.Context) (bool, error) {
	id := r.providerID()
	if id == "" {
		return true, nil
	}
	if snapshot.Ready(r.node) {
		return false, nil
	}
	_, err := r.deps.Provider.Get(ctx, id)
	if err == nil || errors.Is(err, cloud.ErrNotFound) {
		return err != nil, nil
	}
	return false, fmt.Errorf("looking up %s: %w", id, err)
}

// view is what the cluster's state says about the Node.
func (r *removal) view() drain.View {
	now := r.deps.Clock.Now()
	s := r.deps.Store.Snapshot(now, nil)
	node := &snapshot.Node{Name: r.node.Name, Object: r.node}
	if r.claim != nil {
		node.Claim = cluster.Claim(r.claim)
	}
	if known := s.Node(r.node.Name); known != nil {
		node.Pods = known.Pods
	}
	return drain.View{
		Now: now, Node: node, Budgets: eviction.NewBudgets(s.PDBs), Volumes: s.Volumes,
		Attachments: s.Volumes.Attachments[r.node.Name],
		Deadline:    r.deadline, InstanceGone: r.gone,
	}
}

// lookAgain decides once more, on the pods and attachments that the API server
// has at this moment.
func (r *removal) lookAgain(ctx context.Context, v drain.View) (drain.Step, error) {
	var pods corev1.PodList
	if err := r.deps.Live.List(ctx, &pods, client.MatchingFields{loop.PodNode: r.node.Name}); err != nil {
		return drain.Step{}, fmt.Errorf("listing the pods of %s: %w", r.node.Name, err)
	}
	var attachments storagev1.VolumeAttachmentList
	if err := r.deps.Live.List(ctx, &attachments); err != nil {
		return drain.Step{}, fmt.Errorf("listing VolumeAttachments: %w", err)
	}
	fresh := *v.Node
	fresh.Pods = nil
	for i := range pods.Items {
		fresh.Pods = append(fresh.Pods, &snapshot.Pod{Pod: &pods.Items[i]})
	}
	v.Node, v.Attachments = &fresh, nil
	for i := range attachments.Items {
		if attachments.Items[i].Spec.NodeName == r.node.Name {
			v.Attachments = append(v.Attachments, &attachments.Items[i])
		}
	}
	return drain.Next(v), nil
}
