// Package checkup takes the inventories that package doctor examines, of a cluster or of
// manifests, and makes a document of what it finds.
package checkup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/doctor"
)

// place finds the line of a finding's field.
func place(objects []manifest.Object) func(doctor.Finding) string {
	return func(f doctor.Finding) string {
		i := slices.IndexFunc(objects, func(o manifest.Object) bool {
			return o.Kind == f.Object.Kind && o.GetName() == f.Object.Name && o.GetNamespace() == f.Object.Namespace
		})
		if i < 0 {
			return ""
		}
		at := objects[i].Errorf(f.Field, "")
		return fmt.Sprintf("%s:%d", at.File, at.Line)
	}
}

// page is how many objects are asked for at once.
const page = 500

// Cluster reads the kinds that checks look at, each once and in pages. Kinds that may not be
// read, or are not there, are warned of, and then it is not the whole cluster, unless all checks of
// other kinds do without.
func Cluster(ctx context.Context, reader client.Reader, warn func(format string, args ...any)) (objects []client.Object, whole bool, err error) {
	whole = true
	for _, kind := range doctor.Kinds() {
		if kind.List == nil {
			continue
		}
		err := listAll(ctx, reader, kind.List(), kind.Namespace(), &objects)
		switch {
		case kind.Custom && meta.IsNoMatchError(err):
		case apierrors.IsForbidden(err), meta.IsNoMatchError(err):
			whole = whole && kind.Alone
			warn("not examined: %v", err)
		case err != nil:
			return nil, false, fmt.Errorf("listing: %w", err)
		}
	}
	return objects, whole, nil
}

func listAll(ctx context.Context, reader client.Reader, kind client.ObjectList, namespace string, into *[]client.Object) error {
	for token := ""; ; token = kind.GetContinue() {
		if err := reader.List(ctx, kind, client.InNamespace(namespace), client.Limit(page), client.Continue(token)); err != nil {
			return err
		}
		err := meta.EachListItem(kind, func(o runtime.Object) error {
			obj, ok := o.DeepCopyObject().(client.Object)
			if !ok {
				return errors.New("an item is no object")
			}
			*into = append(*into, obj)
			return nil
		})
		if err != nil || kind.GetContinue() == "" {
			return err
		}
	}
}
