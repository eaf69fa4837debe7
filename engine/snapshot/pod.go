package snapshot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is Kubernetes' own pod, read-only, with its equivalence class.
type Pod struct {
	*corev1.Pod
	Class *Class
}

// Terminal reports whether the pod has ended and only its object is left.
func (p *Pod) Terminal() bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Active reports whether the pod has neither ended nor been told to.
func (p *Pod) Active() bool { return !p.Terminal() && p.DeletionTimestamp == nil }

// OfDaemonSet reports whether the pod comes and goes with its node.
func (p *Pod) OfDaemonSet() bool { return p.ownedBy("apps/v1", "DaemonSet") }

// OfStatefulSet reports whether the pod is made again under its own name.
func (p *Pod) OfStatefulSet() bool { return p.ownedBy("apps/v1", "StatefulSet") }

// Mirror reports whether the pod is the image of one that a kubelet runs by
// itself.
func (p *Pod) Mirror() bool { return p.ownedBy("v1", "Node") }

func (p *Pod) ownedBy(apiVersion, kind string) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.APIVersion == apiVersion && o.Kind == kind
	})
}
