package doctor

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// empty is a new object of a kind that checks look at, nil for other kinds.
func empty(kind schema.GroupVersionKind) client.Object {
	switch kind.GroupKind() {
	case schema.GroupKind{Group: "karpenter.sh", Kind: "NodePool"}:
		return &karpv1.NodePool{}
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return &appsv1.DaemonSet{}
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return &appsv1.Deployment{}
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return &appsv1.StatefulSet{}
	case schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}:
		return &policyv1.PodDisruptionBudget{}
	case schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}:
		return &storagev1.StorageClass{}
	case schema.GroupKind{Kind: "Node"}:
		return &corev1.Node{}
	}
	return nil
}

// Decode reads one object, in JSON, as what generated it wrote it: fields that are not known
// are left out. Objects of kinds that no check looks at are nil. An object of a namespace that
// names none gets the given one.
func Decode(raw []byte, namespace string) (client.Object, error) {
	var head metav1.TypeMeta
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	o := empty(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	if o == nil {
		return nil, nil
	}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("%s: %w", head.Kind, err)
	}
	switch o.(type) {
	case *karpv1.NodePool, *storagev1.StorageClass, *corev1.Node:
	default:
		if o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
	}
	return o, nil
}

// KindOf is the kind of an object that a check looks at, empty for others.
func KindOf(o client.Object) string {
	switch o.(type) {
	case *karpv1.NodePool:
		return "NodePool"
	case *appsv1.DaemonSet:
		return "DaemonSet"
	case *appsv1.Deployment:
		return "Deployment"
	case *appsv1.StatefulSet:
		return "StatefulSet"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget"
	case *storagev1.StorageClass:
		return "StorageClass"
	case *corev1.Node:
		return "Node"
	}
	return ""
}
