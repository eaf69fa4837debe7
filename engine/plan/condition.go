package plan

import corev1 "k8s.io/api/core/v1"

// Condition is a status condition that a decision puts on an object.
type Condition struct {
	Type            string
	Status          corev1.ConditionStatus
	Reason, Message string
}
