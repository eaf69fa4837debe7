package snapshot

import corev1 "k8s.io/api/core/v1"

// Pod is Kubernetes' own pod, read-only, with its equivalence class.
type Pod struct {
	*corev1.Pod
	Class *Class
}
