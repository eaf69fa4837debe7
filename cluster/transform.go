package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/millwright-dev/millwright/engine/nomination"
)

// Trim takes off objects, before they are cached, who manages which field. Of
// pods it keeps what is ours, which tells our nominations from kube-scheduler's.
func Trim() toolscache.TransformFunc {
	return func(in any) (any, error) {
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
