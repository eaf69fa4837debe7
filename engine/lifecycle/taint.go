package lifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// hasTaint looks for a taint by key and effect.
func hasTaint(taints []corev1.Taint, t corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
}
