package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
)

// GroupVersion is that of NodePool and NodeClaim.
var GroupVersion = schema.GroupVersion{Group: apis.Group, Version: "v1"}

// AddToScheme registers Millwright's own kinds, and NodePool and NodeClaim, which Karpenter's package only
// does for client-go's global scheme.
func AddToScheme(s *runtime.Scheme) error {
	metav1.AddToGroupVersion(s, GroupVersion)
	s.AddKnownTypes(GroupVersion, &karpv1.NodePool{}, &karpv1.NodePoolList{}, &karpv1.NodeClaim{}, &karpv1.NodeClaimList{})
	return v1alpha1.AddToScheme(s)
}
