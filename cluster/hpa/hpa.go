// Package hpa says how many pods a HorizontalPodAutoscaler lets a workload have.
package hpa

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"
)

// Target is the workload that an autoscaler scales.
type Target struct{ Kind, Namespace, Name string }

// Of is the target of an autoscaler.
func Of(h *autoscalingv2.HorizontalPodAutoscaler) Target {
	return Target{h.Spec.ScaleTargetRef.Kind, h.Namespace, h.Spec.ScaleTargetRef.Name}
}

// Replicas is what becomes of n pods that a workload asks for: at least the autoscaler's minimum,
// at most its maximum. None are left alone, as 0 turns an autoscaler off. Without one, which is
// nil, it is n.
func Replicas(h *autoscalingv2.HorizontalPodAutoscaler, n int32) int32 {
	if h == nil || n == 0 {
		return n
	}
	least := ptr.Deref(h.Spec.MinReplicas, 1)
	return min(max(n, least), max(h.Spec.MaxReplicas, least))
}
