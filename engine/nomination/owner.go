package nomination

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Manager is the field manager under which nominations are written. The API
// server keeps the record of whose a nomination is, and hands it over or drops
// it in the same write by which another client changes or clears the nomination.
const Manager = "millwright"

// Ours reports whether a pod's nomination was made by Millwright.
func Ours(p *corev1.Pod) bool {
	return p.Status.NominatedNodeName != "" && slices.ContainsFunc(p.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == Manager && mentions(f, `"f:nominatedNodeName"`)
	})
}

// Foreign reports whether a pod is nominated by another client, nearly always
// kube-scheduler: it makes room there by preemption, or is about to bind the pod
// to the node. It stays as it is.
func Foreign(p *corev1.Pod) bool { return p.Status.NominatedNodeName != "" && !Ours(p) }
