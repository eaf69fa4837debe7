package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/millwright-dev/millwright/engine/nomination"
)

// Trim takes off objects, before they are cached, who manages which field, and the templates
// of controllers of which only numbers count. Of pods it keeps what is ours, which tells our
// nominations from kube-scheduler's.
func Trim() toolscache.TransformFunc {
	return func(in any) (any, error) {
		switch o := in.(type) {
		case *appsv1.ReplicaSet:
			o.Spec.Template = corev1.PodTemplateSpec{}
		case *batchv1.Job:
			o.Spec.Template = corev1.PodTemplateSpec{}
		}
		obj, ok := in.(metav1.Object)
		if !ok || obj.GetManagedFields() == nil {
			return in, nil // a tombstone, or nothing to take
		}
		var kept []metav1.ManagedFieldsEntry
		if pod, ok := in.(*corev1.Pod); ok {
			ours := nomination.Ours(pod)
			for _, f := range pod.ManagedFields {
				if ours && f.Manager == nomination.Manager || pod.Spec.NodeName == "" && nomination.Speaks(f) {
					kept = append(kept, f)
				}
			}
		}
		obj.SetManagedFields(kept)
		return in, nil
	}
}
