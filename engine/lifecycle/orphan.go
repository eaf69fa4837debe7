package lifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Ours reports whether registration has taken a Node over.
func Ours(n *corev1.Node) bool { return slices.Contains(n.Finalizers, Finalizer) }

// EndOrphan says how a machine ends that no claim accounts for, by its Nodes: the deletion
// of those that registration has taken over drains it, the pods of its other Nodes included,
// which stay until then. Without such a Node all are deleted, and it is terminated at once.
func EndOrphan(nodes []*corev1.Node) (deleted []*corev1.Node, drained bool) {
	deleted = slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return !Ours(n) })
	if len(deleted) == 0 {
		return nodes, false
	}
	return deleted, true
}
