package nodepool

import (
	"context"
	"errors"

	"github.com/awslabs/operatorpkg/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Reasons of a NodeClassReady condition that is False, in Karpenter's words.
// Any other reason is the class's own.
const (
	classNotFound    = "NodeClassNotFound"
	classTerminating = "NodeClassTerminating"
	classUnknown     = "NodeClassReadinessUnknown"
)

// class reads the node class that a pool refers to; nil if there is none, or not
// even its kind.
func (r *Reconciler) class(ctx context.Context, np *karpv1.NodePool) (*unstructured.Unstructured, error) {
	ref := cluster.ClassRef(np.Spec.Template.Spec.NodeClassRef)
	mapping, err := r.mapper.RESTMapping(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(mapping.GroupVersionKind)
	err = r.Live.Get(ctx, types.NamespacedName{Name: ref.Name}, class)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return class, err
}

// readiness sets NodeClassReady.
func (r *Reconciler) readiness(np *karpv1.NodePool, class *unstructured.Unstructured) {
	conditions := r.conditions(np)
	switch {
	case class == nil:
		conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, classNotFound, "NodeClass not found on cluster")
	case class.GetDeletionTimestamp() != nil:
		conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, classTerminating, "NodeClass is terminating")
	default:
		ready, reason, message := r.classReady(class)
		switch ready {
		case metav1.ConditionTrue:
			conditions.SetTrue(karpv1.ConditionTypeNodeClassReady)
		case metav1.ConditionFalse:
			conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, reason, message)
		default:
			conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, classUnknown, "NodeClass has not reported whether it is ready")
		}
	}
}

// classReady is the class's Ready condition. A class without one belongs to a
// provider that does not maintain it, such as KWOK's: then the provider is asked
// whether it can launch from it.
func (r *Reconciler) classReady(class *unstructured.Unstructured) (ready metav1.ConditionStatus, reason, message string) {
	var stated struct {
		Status struct {
			Conditions []status.Condition `json:"conditions"`
		} `json:"status"`
	}
	// A status of another shape is no provider's that is known here.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(class.Object, &stated)
	if ready := cloud.Ready(stated.Status.Conditions); ready.Status != "" {
		return ready.Status, ready.Reason, ready.Message
	}
	_, err := r.Types(snapshot.ClassRef{Group: class.GroupVersionKind().Group, Kind: class.GetKind(), Name: class.GetName()})
	var notReady *cloud.ClassNotReadyError
	switch {
	case err == nil:
		return metav1.ConditionTrue, "", ""
	case errors.As(err, &notReady):
		return metav1.ConditionFalse, "NodeClassNotReady", notReady.Reason
	}
	return metav1.ConditionUnknown, "", ""
}
