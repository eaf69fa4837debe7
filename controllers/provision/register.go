package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/eviction"
)

// pokeAgain is how often a pod that stays pending asks for another pass.
const pokeAgain = 10 * time.Second

// +kubebuilder:rbac:groups="",resources=pods;nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;create

// Add registers the loop and what pokes it: pods that wait for a machine, and
// nodes whose pods are about to.
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
	if err := poker(mgr, p, "provisioner.trigger.pod", &corev1.Pod{}, waitingPod); err != nil {
		return err
	}
	return poker(mgr, p, "provisioner.trigger.node", &corev1.Node{}, leavingNode)
}

func poker(mgr manager.Manager, p *Provisioner, name string, kind client.Object, wants func(client.Object) bool) error {
	return builder.ControllerManagedBy(mgr).
		Named(name).
		For(kind, builder.WithPredicates(predicate.NewPredicateFuncs(wants))).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).
		Complete(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			obj := kind.DeepCopyObject().(client.Object)
			err := p.Client.Get(ctx, req.NamespacedName, obj)
			if client.IgnoreNotFound(err) != nil {
				return reconcile.Result{}, err
			}
			if err != nil || !wants(obj) {
				p.Poke(again) // one less is a change, too
				return reconcile.Result{}, nil
			}
			p.Poke(obj.GetUID())
			return reconcile.Result{RequeueAfter: pokeAgain}, nil
		}))
}

// waitingPod lets through pods that kube-scheduler has not tried yet as well: how fast they
// come says whether a burst goes on.
func waitingPod(obj client.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && cluster.Waits(pod)
}

func leavingNode(obj client.Object) bool {
	node, ok := obj.(*corev1.Node)
	return ok && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&eviction.DisruptedTaint) })
}
