package doctor

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/doctor/control"
	"github.com/millwright-dev/millwright/doctor/unknown"
)

// Decode reads one object, in JSON, as what generated it wrote it. Objects of kinds that no check
// looks at are nil, those with fields that a CRD does not have are an [unknown.Object]; other fields that
// are not known are left out. An object of a namespace that names none gets the given one.
func Decode(raw []byte, namespace string) (client.Object, error) {
	var head metav1.TypeMeta
	if err := decode.JSON(raw, &head); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	gvk := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	kind, ok := ofGroupKind(gvk)
	if !ok {
		return nil, nil
	}
	o := kind.object
	if err := decode.JSON(raw, o); err != nil {
		return nil, fmt.Errorf("%s: %w", head.Kind, err)
	}
	if kind.namespaced && o.GetNamespace() == "" {
		o.SetNamespace(namespace)
	}
	if _, ok := o.(*control.KubeSchedulerConfiguration); ok && o.GetName() == "" {
		o.SetName("kube-scheduler")
	}
	if full, err := unknown.Of(gvk, o, raw); full != nil || err != nil {
		return full, err
	}
	return o, nil
}
