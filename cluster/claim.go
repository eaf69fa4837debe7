package cluster

import (
	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

type condition = status.Condition

// Claim translates a NodeClaim. Requirements that cannot be read, which the API
// server refuses to store, become one that no machine satisfies.
func Claim(nc *karpv1.NodeClaim) *snapshot.Claim {
	c := &snapshot.Claim{
		Name: nc.Name, UID: nc.UID,
		Pool:    nc.Labels[karpv1.NodePoolLabelKey],
		Created: nc.CreationTimestamp.Time,
		Class:   ClassRef(nc.Spec.NodeClassRef),
		Labels:  nc.Labels, Annotations: nc.Annotations,
		Taints: nc.Spec.Taints, StartupTaints: nc.Spec.StartupTaints,
		Requests:   nc.Spec.Resources.Requests,
		ProviderID: nc.Status.ProviderID, NodeName: nc.Status.NodeName, Image: nc.Status.ImageID,
		Capacity: nc.Status.Capacity, Allocatable: nc.Status.Allocatable,
		Conditions:   conditions(nc.Status.Conditions),
		LastPodEvent: nc.Status.LastPodEventTime.Time,
		ExpireAfter:  nc.Spec.ExpireAfter.Duration,
	}
	if nc.DeletionTimestamp != nil {
		c.Deleted = nc.DeletionTimestamp.Time
	}
	if nc.Spec.TerminationGracePeriod != nil {
		c.TerminationGracePeriod = &nc.Spec.TerminationGracePeriod.Duration
	}
	wanted, err := requirements(nc.Spec.Requirements)
	if err != nil {
		wanted = requirement.NewSet(
			requirement.Must(corev1.LabelInstanceTypeStable, requirement.Exists),
			requirement.Must(corev1.LabelInstanceTypeStable, requirement.DoesNotExist),
		)
	}
	c.Requirements = wanted
	return c
}

func conditions(list []condition) map[string]snapshot.Condition {
	out := make(map[string]snapshot.Condition, len(list))
	for _, c := range list {
		out[c.Type] = snapshot.Condition{
			Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			Since: c.LastTransitionTime.Time,
		}
	}
	return out
}
