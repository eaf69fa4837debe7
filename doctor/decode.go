package doctor

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/doctor/control"
)

// Decode reads one object, in JSON, as what generated it wrote it: fields that are not known
// are left out. Objects of kinds that no check looks at are nil. An object of a namespace that
// names none gets the given one.
func Decode(raw []byte, namespace string) (client.Object, error) {
	var head metav1.TypeMeta
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	kind, ok := ofGroupKind(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	if !ok {
		return nil, nil
	}
	o := kind.object
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("%s: %w", head.Kind, err)
	}
	if kind.namespaced && o.GetNamespace() == "" {
		o.SetNamespace(namespace)
	}
	if _, ok := o.(*control.KubeSchedulerConfiguration); ok && o.GetName() == "" {
		o.SetName("kube-scheduler")
	}
	return o, nil
}
