package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/karpenter/pkg/apis"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
)

// GroupVersion is that of NodePool and NodeClaim.
var GroupVersion = schema.GroupVersion{Group: apis.Group, Version: "v1"}

// OverlayVersion is that of NodeOverlay.
var OverlayVersion = schema.GroupVersion{Group: apis.Group, Version: "v1alpha1"}

// BufferVersion is that of CapacityBuffer.
var BufferVersion = schema.GroupVersion{Group: bufferv1beta1.Group, Version: "v1beta1"}

// AddToScheme registers Millwright's own kinds, and NodePool, NodeClaim, NodeOverlay and CapacityBuffer, which
// Karpenter's packages only do for client-go's global scheme.
func AddToScheme(s *runtime.Scheme) error {
	metav1.AddToGroupVersion(s, GroupVersion)
	s.AddKnownTypes(GroupVersion, &karpv1.NodePool{}, &karpv1.NodePoolList{}, &karpv1.NodeClaim{}, &karpv1.NodeClaimList{})
	metav1.AddToGroupVersion(s, OverlayVersion)
	s.AddKnownTypes(OverlayVersion, &overlayv1alpha1.NodeOverlay{}, &overlayv1alpha1.NodeOverlayList{})
	metav1.AddToGroupVersion(s, BufferVersion)
	s.AddKnownTypes(BufferVersion, &bufferv1beta1.CapacityBuffer{}, &bufferv1beta1.CapacityBufferList{})
	return v1alpha1.AddToScheme(s)
}
