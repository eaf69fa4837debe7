package provider

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
)

var _ cloud.Repairer = (*Provider)(nil)

// RepairPolicies are Karpenter's for EKS: the kubelet's condition, and those that the EKS node
// monitoring agent sets.
func (p *Provider) RepairPolicies() []cloud.RepairPolicy {
	const patience, accelerators = 30 * time.Minute, 10 * time.Minute
	return []cloud.RepairPolicy{
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Toleration: patience},
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Toleration: patience},
		{Type: "AcceleratedHardwareReady", Status: corev1.ConditionFalse, Toleration: accelerators},
		{Type: "StorageReady", Status: corev1.ConditionFalse, Toleration: patience},
		{Type: "NetworkingReady", Status: corev1.ConditionFalse, Toleration: patience},
		{Type: "KernelReady", Status: corev1.ConditionFalse, Toleration: patience},
		{Type: "ContainerRuntimeReady", Status: corev1.ConditionFalse, Toleration: patience},
	}
}
