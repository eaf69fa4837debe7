package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// DisruptedTaint keeps new pods off a node that is about to go.
var DisruptedTaint = corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}

// Marked reports whether a node carries the taint.
func Marked(node *corev1.Node) bool { return slices.ContainsFunc(node.Spec.Taints, disrupted) }

// Mark puts the taint onto a copy of a Node. One of the same key with another
// effect is replaced.
func Mark(node *corev1.Node) {
	if Marked(node) {
		return
	}
	node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.Key == DisruptedTaint.Key })
	node.Spec.Taints = append(node.Spec.Taints, DisruptedTaint)
}

// Unmark takes the taint off a copy of a Node.
func Unmark(node *corev1.Node) {
	node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), disrupted)
}

func disrupted(t corev1.Taint) bool { return t.MatchTaint(&DisruptedTaint) }
