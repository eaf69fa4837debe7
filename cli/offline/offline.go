// Package offline makes the state of a cluster of manifests: what its controllers and API
// server would add to them, what they would refuse, and which machines static pools would
// launch.
//
//	[]manifest.Object ──► CheckPods, Faults, Classless ──► Complete ──► cluster.Store
package offline

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/admission"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cli/workload"
	"github.com/millwright-dev/millwright/cluster"
)

// Faults are fields that the API server admits and that mean nothing.
func Faults(objects []manifest.Object) manifest.Errors {
	var out manifest.Errors
	for _, o := range objects {
		var found cluster.Faults
		switch obj := o.Object.(type) {
		case *v1alpha1.NodePolicy:
			found = cluster.CheckPolicy(obj)
		case *karpv1.NodePool:
			found = cluster.CheckPool(obj)
		case *overlayv1alpha1.NodeOverlay:
			found = cluster.CheckOverlay(obj)
		}
		for _, f := range found {
			out = append(out, o.Errorf(f.Field, "%s", f.Message))
		}
	}
	return out
}

// Complete adds what controllers and the API server would add: the pods and
// claims of workloads, and the defaults of pods and claims.
func Complete(objects []manifest.Object) []client.Object {
	out := make([]client.Object, len(objects))
	for i, o := range objects {
		out[i] = o.Object
	}
	out = append(out, workload.Expand(out)...)
	classes := admission.Classes{Priority: map[string]*schedulingv1.PriorityClass{}, Runtime: map[string]*nodev1.RuntimeClass{}, Ranges: map[string][]*corev1.LimitRange{}}
	var storage []*storagev1.StorageClass
	for _, o := range out {
		switch o := o.(type) {
		case *schedulingv1.PriorityClass:
			classes.Priority[o.Name] = o
		case *nodev1.RuntimeClass:
			classes.Runtime[o.Name] = o
		case *corev1.LimitRange:
			classes.Ranges[o.Namespace] = append(classes.Ranges[o.Namespace], o)
		case *storagev1.StorageClass:
			storage = append(storage, o)
		}
	}
	for _, o := range out {
		switch o := o.(type) {
		case *corev1.Pod:
			classes.Pod(o)
		case *appsv1.DaemonSet:
			classes.Template(o.Namespace, &o.Spec.Template)
		case *corev1.PersistentVolumeClaim:
			admission.Claim(o, storage)
		}
	}
	return out
}
