package lifecycle

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// readinessPrefix begins the keys of taints that the node readiness controller
// puts on and takes off.
const readinessPrefix = "readiness.k8s.io/"

// Ephemeral reports whether a taint is one that Kubernetes puts on a new node and
// takes off by itself. Values do not matter.
func Ephemeral(t corev1.Taint) bool {
	if strings.HasPrefix(t.Key, readinessPrefix) {
		return true
	}
	return hasTaint([]corev1.Taint{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule},
		Unregistered,
	}, t)
}

// hasTaint looks for a taint by key and effect.
func hasTaint(taints []corev1.Taint, t corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
}
