package provider

import (
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var _ cloud.Repairer = (*Provider)(nil)

// transient are the reasons of AcceleratedHardwareReady, by NVIDIA's numbers, for which Karpenter
// reboots a machine.
var transient = regexp.MustCompile(`XID(46|48|54|62|63|95|109|110|136|140|143|155|156|158)(\D|$)`)

// RepairPolicies are Karpenter's for EKS: the kubelet's condition, and those that the EKS node
// monitoring agent sets.
func (p *Provider) RepairPolicies() []cloud.RepairPolicy {
	const toleration, accelerators = 30 * time.Minute, 10 * time.Minute
	var out []cloud.RepairPolicy
	if p.RebootForRepair {
		out = append(out, cloud.RepairPolicy{Type: "AcceleratedHardwareReady", Status: corev1.ConditionFalse, Reason: transient, Toleration: accelerators, Action: snapshot.RepairReboot})
	}
	return append(out, []cloud.RepairPolicy{
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Toleration: toleration},
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Toleration: toleration},
		{Type: "AcceleratedHardwareReady", Status: corev1.ConditionFalse, Toleration: accelerators},
		{Type: "StorageReady", Status: corev1.ConditionFalse, Toleration: toleration},
		{Type: "NetworkingReady", Status: corev1.ConditionFalse, Toleration: toleration},
		{Type: "KernelReady", Status: corev1.ConditionFalse, Toleration: toleration},
		{Type: "ContainerRuntimeReady", Status: corev1.ConditionFalse, Toleration: toleration},
	}...)
}
