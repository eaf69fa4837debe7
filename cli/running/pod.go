package running

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cli/listing"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers"
	"github.com/millwright-dev/millwright/controllers/loop"
)

// names are the leases, that of a process which acts first.
var names = []string{cluster.LeaseName, controllers.ObserverName}

// Pod is the pod that runs the controller; nil if no lease names one, or if leases and pods may
// not be read. One that acts comes before one that only observes.
func Pod(ctx context.Context, reader client.Reader) (*corev1.Pod, error) {
	leases, errs := make([][]*coordinationv1.Lease, len(names)), make([]error, len(names))
	loop.SideBySide(len(names), func(i int) { errs[i] = leasesOf(ctx, reader, names[i], &leases[i]) })
	for _, err := range errs {
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("listing Leases: %w", err)
		}
	}
	for _, at := range holders(slices.Concat(leases...)) {
		pod := &corev1.Pod{}
		switch err := reader.Get(ctx, at, pod); {
		case err == nil:
			return pod, nil
		case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("reading the controller's pod: %w", err)
		}
	}
	return nil, nil
}

// PodAmong is the pod that runs the controller in a cluster of which these are the objects.
func PodAmong(objects []client.Object) *corev1.Pod {
	var leases []*coordinationv1.Lease
	pods := map[types.NamespacedName]*corev1.Pod{}
	for _, o := range objects {
		switch o := o.(type) {
		case *coordinationv1.Lease:
			leases = append(leases, o)
		case *corev1.Pod:
			pods[client.ObjectKeyFromObject(o)] = o
		}
	}
	for _, at := range holders(leases) {
		if pod := pods[at]; pod != nil {
			return pod
		}
	}
	return nil
}

// holders are the pods that hold leases, of each of the names the one first that has renewed last.
func holders(leases []*coordinationv1.Lease) []types.NamespacedName {
	leases = slices.DeleteFunc(slices.Clone(leases), func(l *coordinationv1.Lease) bool { return !slices.Contains(names, l.Name) })
	slices.SortFunc(leases, func(a, b *coordinationv1.Lease) int {
		return cmp.Or(cmp.Compare(slices.Index(names, a.Name), slices.Index(names, b.Name)),
			explain.Renewed(b).Compare(explain.Renewed(a)), cmp.Compare(a.Namespace, b.Namespace))
	})
	var out []types.NamespacedName
	for _, l := range leases {
		if name := explain.Holder(l); name != "" {
			out = append(out, types.NamespacedName{Namespace: l.Namespace, Name: name})
		}
	}
	return out
}

// leasesOf adds the leases of a name.
func leasesOf(ctx context.Context, reader client.Reader, name string, into *[]*coordinationv1.Lease) error {
	return listing.Each(ctx, reader, &coordinationv1.LeaseList{}, func(l *coordinationv1.Lease) error {
		*into = append(*into, l)
		return nil
	}, client.MatchingFields{"metadata.name": name})
}
