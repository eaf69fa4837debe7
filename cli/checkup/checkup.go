// Package checkup takes the inventories that package doctor examines, of a cluster or of
// manifests, and makes a document of what it finds.
package checkup

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/listing"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cluster/decode"
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

// addCluster reads the kinds that checks look at, each once and in pages. Kinds that may not be
// read, or are not there, are skipped, and then it is not the whole cluster, unless all checks of
// other kinds do without.
func (in *Input) addCluster(ctx context.Context, reader client.Reader, warn func(format string, args ...any)) error {
	in.whole = true
	for _, kind := range doctor.Kinds() {
		if kind.List == nil {
			continue
		}
		err := listing.Each(ctx, reader, kind.List(), func(o client.Object) error {
			if fault := decode.Fault(o); fault != "" {
				warn("what is wrong with the rest of it is not known: %s %s: %s", listing.Kind(kind.List()), o.GetName(), fault)
			}
			in.objects = append(in.objects, o)
			return nil
		}, client.InNamespace(kind.Namespace()))
		switch {
		case kind.Custom && meta.IsNoMatchError(err):
		case meta.IsNoMatchError(err):
			in.whole = in.whole && kind.Alone
			in.skip(warn, "the cluster serves no %s", listing.Kind(kind.List()))
		case apierrors.IsForbidden(err):
			in.deny(kind, warn, "%v", err)
		case err != nil:
			return fmt.Errorf("listing %s: %w", listing.Kind(kind.List()), err)
		}
	}
	return nil
}
