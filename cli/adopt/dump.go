package adopt

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/offline"
)

// dump has the report look at the objects of files.
func (r *report) dump(files []string) error {
	input, err := r.Read(files, true)
	if err != nil {
		return err
	}
	r.reader, r.dumped = dump(offline.Complete(input.Objects)), true
	return nil
}

// dump reads objects that are all there.
type dump []client.Object

// Get finds nothing: a report gets no kind that a dump has.
func (dump) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// List lists the objects of the list's kind.
func (d dump) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var wanted client.ListOptions
	wanted.ApplyOptions(opts)
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return fmt.Errorf("listing %T: %w", list, err)
	}
	item := reflect.TypeOf(items).Elem().Elem()
	untyped, _ := list.(*unstructured.UnstructuredList)
	var out []runtime.Object
	for _, o := range d {
		if reflect.TypeOf(o).Elem() != item || wanted.LabelSelector != nil && !wanted.LabelSelector.Matches(labels.Set(o.GetLabels())) {
			continue
		}
		if untyped == nil || o.GetObjectKind().GroupVersionKind().Kind+"List" == untyped.GetKind() {
			out = append(out, o)
		}
	}
	return meta.SetList(list, out)
}
