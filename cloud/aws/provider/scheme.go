package provider

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/millwright-dev/millwright/api/awsv1"
)

// +kubebuilder:rbac:groups=karpenter.k8s.aws,resources=ec2nodeclasses,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=karpenter.k8s.aws,resources=ec2nodeclasses/status,verbs=patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=services,verbs=get

// AddToScheme registers EC2NodeClass.
func AddToScheme(s *runtime.Scheme) error { return awsv1.AddToScheme(s) }
