package conditions

import (
	"context"
	"fmt"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Add registers the series and keeps them up to date under a manager.
func Add(mgr manager.Manager, d loop.Deps, registry prometheus.Registerer) error {
	var class client.Object
	if keeper, ok := cloud.As[cloud.ClassKeeper](d.Provider); ok {
		class = keeper.ClassKind().New()
	}
	for _, t := range Trackers(d.Settings.ManagedClasses, class, d.Clock) {
		if err := registry.Register(t); err != nil {
			return fmt.Errorf("registering the conditions of every %s: %w", t.name, err)
		}
		if err := mgr.Add(follow(mgr, t.object, t)); err != nil {
			return fmt.Errorf("watching every %s: %w", t.name, err)
		}
	}
	return nil
}

// Trackers are the series of every kind with conditions, those of claims and Nodes with the
// labels that name their node class. An object of the classes' own kind is given if they have a
// status, else nil.
func Trackers(classes []snapshot.ClassRef, class client.Object, c clock.PassiveClock) []*Tracker {
	var out []*Tracker
	for _, k := range kinds(classes, class) {
		out = append(out, newTracker(k, c))
	}
	return out
}

// follow shows every object of a kind to a Tracker.
func follow(mgr manager.Manager, kind client.Object, t *Tracker) manager.RunnableFunc {
	return func(ctx context.Context) error {
		informer, err := mgr.GetCache().GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    t.see,
			UpdateFunc: func(_, o any) { t.see(o) },
			DeleteFunc: t.forget,
		})
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		<-ctx.Done()
		return informer.RemoveEventHandler(registration)
	}
}

// kind is a kind of objects with conditions.
type kind struct {
	// name is the kind's in the series' names.
	name   string
	object client.Object
	// labels are keys of the objects' labels, which become labels of the series.
	labels     []string
	conditions func(client.Object) []status.Condition
}

func kinds(classes []snapshot.ClassRef, class client.Object) []kind {
	var ofPool []string
	for _, c := range classes {
		ofPool = append(ofPool, karpv1.NodeClassLabelKey(schema.GroupKind{Group: c.Group, Kind: c.Kind}))
	}
	ofPool = append(ofPool, karpv1.NodePoolLabelKey)
	out := []kind{
		{"nodeclaim", &karpv1.NodeClaim{}, ofPool, statusOf},
		{"nodepool", &karpv1.NodePool{}, nil, statusOf},
		{"node", &corev1.Node{}, append(ofPool[:len(ofPool):len(ofPool)], karpv1.NodeInitializedLabelKey), nodeStatusOf},
	}
	if class != nil && len(classes) > 0 {
		out = append(out, kind{strings.ToLower(classes[0].Kind), class, nil, statusOf})
	}
	return out
}

func statusOf(o client.Object) []status.Condition {
	if with, ok := o.(status.Object); ok {
		return with.GetConditions()
	}
	return nil
}

func nodeStatusOf(o client.Object) []status.Condition {
	n, ok := o.(*corev1.Node)
	if !ok {
		return nil
	}
	out := make([]status.Condition, 0, len(n.Status.Conditions))
	for _, c := range n.Status.Conditions {
		out = append(out, status.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, LastTransitionTime: c.LastTransitionTime})
	}
	return out
}
