package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/eviction"
)

// +kubebuilder:rbac:groups="",resources=pods;nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get;list;watch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;create

// Add registers the loop and what triggers it: pods that wait for a machine, nodes and claims
// whose pods are about to, pools and overlays by which machines can be had that could not before,
// and buffers. What pods take of the room of those is seen when the next pass is due.
func Add(mgr manager.Manager, d loop.Deps) error {
	p := New(d, Config{Placement: d.Settings.Placement})
	if err := mgr.Add(p); err != nil {
		return fmt.Errorf("adding the provisioner: %w", err)
	}
	if !d.Settings.Observe {
		if err := errors.Join(mgr.Add(p.nominator), p.nominator.watch(mgr)); err != nil {
			return fmt.Errorf("adding the nominator: %w", err)
		}
	}
	var gated []error
	if d.Settings.NodeOverlay {
		gated = append(gated, addTrigger(mgr, p, "provisioner.trigger.nodeoverlay", &overlayv1alpha1.NodeOverlay{}, ready, opened{}))
	}
	if d.Settings.CapacityBuffer {
		any := func(client.Object) bool { return true }
		gated = append(gated, addTrigger(mgr, p, "provisioner.trigger.capacitybuffer", &bufferv1beta1.CapacityBuffer{}, any, predicate.GenerationChangedPredicate{}))
	}
	return errors.Join(
		errors.Join(gated...),
		addTrigger(mgr, p, "provisioner.trigger.pod", &corev1.Pod{}, p.unplanned, nil),
		addTrigger(mgr, p, "provisioner.trigger.displaced", &corev1.Pod{}, p.displaced, triedAgain{}),
		addTrigger(mgr, p, "provisioner.trigger.node", &corev1.Node{}, leavingNode, nil),
		addTrigger(mgr, p, "provisioner.trigger.nodeclaim", &karpv1.NodeClaim{}, leavingClaim, nil),
		addTrigger(mgr, p, "provisioner.trigger.nodepool", &karpv1.NodePool{}, ready, opened{}),
	)
}

// addTrigger triggers a pass for each object that wants it, at every event, or at those that a further
// predicate lets through.
func addTrigger(mgr manager.Manager, p *Provisioner, name string, kind client.Object, wants func(client.Object) bool, at predicate.Predicate) error {
	events := []predicate.Predicate{predicate.NewPredicateFuncs(wants)}
	if at != nil {
		events = append(events, at)
	}
	return builder.ControllerManagedBy(mgr).
		Named(name).
		For(kind, builder.WithPredicates(events...)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).
		Complete(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			obj := kind.DeepCopyObject().(client.Object)
			err := p.Client.Get(ctx, req.NamespacedName, obj)
			if err == nil && wants(obj) {
				p.Trigger(obj.GetUID())
			}
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}))
}

// unplanned lets through pods that wait and that the latest plan does not know. Those that
// kube-scheduler has not tried yet are among them: how fast they come says whether a burst
// goes on.
func (p *Provisioner) unplanned(obj client.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	if !ok || !cluster.Waits(pod) {
		return false
	}
	_, known := p.Store.Place(client.ObjectKeyFromObject(pod))
	return !known
}

// displaced lets through pods that wait although the machine that the plan counts on takes pods:
// others may have taken their room.
func (p *Provisioner) displaced(obj client.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	if !ok || !cluster.Waits(pod) {
		return false
	}
	name, _ := p.Store.Place(client.ObjectKeyFromObject(pod))
	if name == "" {
		return false
	}
	if claim, err := p.Claim(context.Background(), name); err == nil {
		return claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered)
	}
	var node corev1.Node
	return p.Client.Get(context.Background(), client.ObjectKey{Name: name}, &node) == nil
}

// triedAgain lets through pods for which kube-scheduler has found no node once more, and
// says why in other words.
type triedAgain struct{ predicate.Funcs }

func (triedAgain) Create(event.CreateEvent) bool { return false }

// Update compares.
func (triedAgain) Update(e event.UpdateEvent) bool {
	before, after := verdict(e.ObjectOld), verdict(e.ObjectNew)
	return before != "" && after != "" && before != after
}

// verdict is what kube-scheduler says of a pod for which it has found no node.
func verdict(obj client.Object) string {
	for _, c := range obj.(*corev1.Pod).Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// leavingClaim lets through machines whose pods need another one, such as those that could
// not be launched.
func leavingClaim(obj client.Object) bool {
	claim, ok := obj.(*karpv1.NodeClaim)
	return ok && claim.DeletionTimestamp != nil
}

func leavingNode(obj client.Object) bool {
	node, ok := obj.(*corev1.Node)
	return ok && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&eviction.DisruptedTaint) })
}

// ready lets through pools that launch machines and overlays that count.
func ready(obj client.Object) bool {
	o, ok := obj.(status.Object)
	return ok && o.StatusConditions(status.WithObservedOnly()).IsTrue(status.ConditionReady)
}

// opened lets through what has become ready or whose spec has changed. Pods that no
// pool could take are planned anew at once then, not when their turn comes again.
type opened struct{ predicate.Funcs }

// Create is false: nothing is ready when it is created, and what there is at the start is
// planned for in any case.
func (opened) Create(event.CreateEvent) bool { return false }

// Update compares.
func (opened) Update(e event.UpdateEvent) bool {
	return !ready(e.ObjectOld) || e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
}
