package offer

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Machine is a machine that was bought: initialized, and quiet.
func (o *Offer) Machine(name string, now time.Time) (*corev1.Node, *karpv1.NodeClaim) {
	labels := maps.Clone(o.Node.Labels)
	labels[corev1.LabelHostname], labels[corev1.LabelInstanceTypeStable] = name, o.Type
	labels[karpv1.NodeRegisteredLabelKey], labels[karpv1.NodeInitializedLabelKey] = "true", "true"
	node := o.Node.DeepCopy()
	node.ObjectMeta = metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: labels, CreationTimestamp: metav1.NewTime(now)}
	node.Spec.ProviderID = "bench:///" + name
	node.Status.Capacity = node.Status.Allocatable
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels, CreationTimestamp: metav1.NewTime(now)},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: &karpv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"},
			Taints:       node.Spec.Taints,
		},
	}
	claim.Status.ProviderID, claim.Status.NodeName = node.Spec.ProviderID, name
	claim.Status.Capacity, claim.Status.Allocatable = node.Status.Capacity, node.Status.Allocatable
	for _, t := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized, karpv1.ConditionTypeConsolidatable} {
		claim.StatusConditions().SetTrue(t)
	}
	for i := range claim.Status.Conditions {
		claim.Status.Conditions[i].LastTransitionTime = metav1.NewTime(now)
	}
	return node, claim
}
