// Package listing reads all objects of a kind, in pages.
package listing

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
)

// Each calls do with every object of a kind, of which it gets an empty list, and ends at the
// first error. Objects are read in pages of 500 and are do's to keep. The reader must not be a
// cache, which knows no pages. NodeOverlays and CapacityBuffers came late to Karpenter: a cluster
// without the kind has none.
func Each[T client.Object](ctx context.Context, reader client.Reader, kind client.ObjectList, do func(T) error, opts ...client.ListOption) error {
	pages := pager.New(func(ctx context.Context, page metav1.ListOptions) (runtime.Object, error) {
		list, _ := kind.DeepCopyObject().(client.ObjectList)
		return list, reader.List(ctx, list, append(opts[:len(opts):len(opts)], client.Limit(page.Limit), client.Continue(page.Continue))...)
	})
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		object, ok := o.(T)
		if !ok {
			return fmt.Errorf("an item of %T is a %T", kind, o)
		}
		return do(object)
	})
	switch kind.(type) {
	case *overlayv1alpha1.NodeOverlayList, *bufferv1beta1.CapacityBufferList:
		if meta.IsNoMatchError(err) {
			return nil
		}
	}
	return err
}

// Kind is the kind of a typed list's items, such as NodePool.
func Kind(list client.ObjectList) string {
	return strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
}

// Details are the kinds that a plan depends on besides NodeClaims and Nodes, if devices that pods
// claim count with those, and if pods are spread by default with what selects them.
func Details(devices, spread bool) []client.ObjectList {
	out := []client.ObjectList{
		&v1alpha1.NodePolicyList{}, &karpv1.NodePoolList{}, &overlayv1alpha1.NodeOverlayList{}, &appsv1.DaemonSetList{}, &corev1.LimitRangeList{}, &corev1.PodList{}, &storagev1.CSINodeList{},
		&storagev1.StorageClassList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{},
	}
	if devices {
		out = append(out, &resourcev1.DeviceClassList{}, &resourcev1.ResourceClaimTemplateList{}, &resourcev1.ResourceClaimList{}, &resourcev1.ResourceSliceList{})
	}
	if spread {
		out = append(out, Selecting()...)
	}
	return out
}

// Selecting are the kinds that select pods, for default topology spread constraints.
func Selecting() []client.ObjectList {
	return []client.ObjectList{&corev1.ServiceList{}, &corev1.ReplicationControllerList{}, &appsv1.ReplicaSetList{}, &appsv1.StatefulSetList{}}
}
