package decode

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	kjson "sigs.k8s.io/json"
)

// Annotation is on objects in memory of which a part could not be read: field and reason,
// several separated by semicolons. It is never written.
const Annotation = "millwright.dev/unreadable"

// Fault is what could not be read of an object, empty if all could.
func Fault(obj metav1.Object) string { return obj.GetAnnotations()[Annotation] }

// mostFaults bounds what is left out of one object.
const mostFaults = 50

// Object reads an object into one of its type, without the fields that the type refuses. The
// error is one of an object of which not even the rest can be read.
func Object(from *unstructured.Unstructured, into client.Object) error {
	from = from.DeepCopy()
	var faults []string
	for {
		raw, err := from.MarshalJSON()
		if err != nil {
			return fmt.Errorf("encoding %s: %w", from.GetName(), err)
		}
		empty(into)
		if err = kjson.UnmarshalCaseSensitivePreserveInts(raw, into); err == nil {
			break
		}
		path, why := Locate(raw, reflect.TypeOf(into).Elem(), "")
		if path == "" || len(faults) == mostFaults || !remove(from.Object, Steps(path)) {
			return fmt.Errorf("reading %s %s: %w", from.GetKind(), from.GetName(), err)
		}
		faults = append(faults, fmt.Sprintf("%s: %v", path, why))
	}
	if len(faults) > 0 {
		annotations := maps.Clone(into.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[Annotation] = strings.Join(faults, "; ")
		into.SetAnnotations(annotations)
	}
	return nil
}

// empty sets an object to its zero value.
func empty(obj client.Object) {
	v := reflect.ValueOf(obj).Elem()
	v.Set(reflect.Zero(v.Type()))
}

// remove takes the value at a path out of a document, and reports whether there was one.
func remove(in any, path []string) bool {
	switch in := in.(type) {
	case map[string]any:
		value, ok := in[path[0]]
		if !ok {
			return false
		}
		if len(path) == 1 {
			delete(in, path[0])
			return true
		}
		if list, ok := value.([]any); ok && len(path) == 2 {
			i, err := strconv.Atoi(path[1])
			if err != nil || i >= len(list) {
				return false
			}
			in[path[0]] = append(list[:i:i], list[i+1:]...)
			return true
		}
		return remove(value, path[1:])
	case []any:
		i, err := strconv.Atoi(path[0])
		return err == nil && i < len(in) && len(path) > 1 && remove(in[i], path[1:])
	}
	return false
}

// Send makes a request whose answer is read into obj. If a part of obj could not be read, its
// answer could not be either: another object without a type takes its place in the request.
func Send(obj client.Object, kinds *runtime.Scheme, do func(client.Object) error) error {
	if Fault(obj) == "" {
		return do(obj)
	}
	gvk, err := apiutil.GVKForObject(obj, kinds)
	if err != nil {
		return err
	}
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(gvk)
	bare.SetNamespace(obj.GetNamespace())
	bare.SetName(obj.GetName())
	if err := do(bare); err != nil {
		return err
	}
	return Object(bare, obj)
}
