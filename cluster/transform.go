package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Trim takes off objects, before they are cached, who manages which field, and the templates of
// controllers of which only the numbers of pods count. Those of ReplicaSets and StatefulSets stay where
// buffers may be made of them. Of pods it keeps what is ours, which tells our nominations from kube-scheduler's, and
// of Nodes that are joining when their taints changed.
func Trim(buffers bool) toolscache.TransformFunc {
	return func(in any) (any, error) {
		switch o := in.(type) {
		case *appsv1.ReplicaSet:
			if !buffers {
				o.Spec.Template = corev1.PodTemplateSpec{}
			}
		case *appsv1.StatefulSet:
			if !buffers {
				o.Spec.Template = corev1.PodTemplateSpec{}
			}
		case *batchv1.Job:
			o.Spec.Template = corev1.PodTemplateSpec{}
		}
		obj, ok := in.(metav1.Object)
		if !ok || obj.GetManagedFields() == nil {
			return in, nil // a tombstone, or nothing to take
		}
		var kept []metav1.ManagedFieldsEntry
		for _, f := range obj.GetManagedFields() {
			if counts(in, f) {
				kept = append(kept, f)
			}
		}
		obj.SetManagedFields(kept)
		return in, nil
	}
}

// counts reports whether it counts who manages these fields of an object.
func counts(in any, f metav1.ManagedFieldsEntry) bool {
	switch o := in.(type) {
	case *corev1.Pod:
		return f.Manager == nomination.Manager && nomination.Ours(o) || o.Spec.NodeName == "" && nomination.OfScheduler(f)
	case *corev1.Node:
		return o.Labels[snapshot.RegisteredLabel] != "true" && nomination.Taints(f)
	}
	return false
}
