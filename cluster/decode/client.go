package decode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client is c, but reads an object that cannot be read as a whole without the fields that cannot
// be. It is safe for concurrent use.
func Client(c client.Client) client.Client { return lenient{c} }

type lenient struct{ client.Client }

// Get is client.Reader's.
func (l lenient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := l.Client.Get(ctx, key, obj, opts...)
	if !undecoded(ctx, err) {
		return err
	}
	gvk, unknown := l.GroupVersionKindFor(obj)
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(gvk)
	if unknown != nil || l.Client.Get(ctx, key, bare, opts...) != nil || Object(bare, obj) != nil {
		return err
	}
	return nil
}

// List is client.Reader's.
func (l lenient) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	err := l.Client.List(ctx, into, opts...)
	if !undecoded(ctx, err) {
		return err
	}
	gvk, unknown := l.GroupVersionKindFor(into)
	if unknown != nil {
		return err
	}
	var lost error
	again := list(ctx, l.Client, gvk, into, func(_ client.Object, err error) { lost = cmp.Or(lost, err) }, opts...)
	if again != nil || lost != nil {
		return cmp.Or(lost, err)
	}
	return nil
}

// undecoded reports whether the error of a request is one of reading the answer.
func undecoded(ctx context.Context, err error) bool {
	var answer apierrors.APIStatus
	return err != nil && !errors.As(err, &answer) && !meta.IsNoMatchError(err) && ctx.Err() == nil
}

// list reads objects into a list of the kind, one by one. Report is told of those of which a part
// cannot be read, or nothing at all: then err says why, and they are left out.
func list(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, into runtime.Object, report func(obj client.Object, err error), opts ...client.ListOption) error {
	var bare unstructured.UnstructuredList
	bare.SetGroupVersionKind(gvk)
	if err := c.List(ctx, &bare, opts...); err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	items := make([]runtime.Object, 0, len(bare.Items))
	for i := range bare.Items {
		made, err := c.Scheme().New(gvk)
		if err != nil {
			return err
		}
		obj, ok := made.(client.Object)
		if !ok {
			return fmt.Errorf("%s is no kind of objects", gvk.Kind)
		}
		if err := Object(&bare.Items[i], obj); err != nil {
			report(&bare.Items[i], err)
			continue
		}
		if Fault(obj) != "" {
			report(obj, nil)
		}
		items = append(items, obj)
	}
	listed, err := meta.ListAccessor(into)
	if err != nil {
		return err
	}
	listed.SetResourceVersion(bare.GetResourceVersion())
	listed.SetContinue(bare.GetContinue())
	listed.SetRemainingItemCount(bare.GetRemainingItemCount())
	return meta.SetList(into, items)
}
