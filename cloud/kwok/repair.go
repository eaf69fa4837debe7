package kwok

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
)

var _ cloud.Repairer = (*Provider)(nil)

// RepairPolicies are those of Karpenter's KWOK provider.
func (p *Provider) RepairPolicies() []cloud.RepairPolicy {
	return []cloud.RepairPolicy{
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Toleration: 10 * time.Minute},
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Toleration: 10 * time.Minute},
	}
}
