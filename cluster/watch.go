package cluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools;nodeclaims;nodeoverlays,verbs=list;watch
// +kubebuilder:rbac:groups=millwright.dev,resources=nodepolicies;disruptionrequests,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=nodes;pods;namespaces;limitranges;persistentvolumes;persistentvolumeclaims,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=daemonsets;replicasets,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses;csidrivers;csinodes;volumeattachments,verbs=list;watch

// Watch feeds the store from the manager's informers once the manager starts,
// on every replica whether it leads or not. The store is [Store.Synced] when all
// initial lists have arrived. Further are the kinds that count behind gates.
func Watch(mgr manager.Manager, store *Store, further ...client.Object) error {
	kinds := append(watched(), further...)
	return mgr.Add(&watcher{cache: mgr.GetCache(), store: store, kinds: kinds})
}

type watcher struct {
	cache cache.Cache
	store *Store
	kinds []client.Object
}

// NeedLeaderElection keeps the store warm on standby replicas.
func (*watcher) NeedLeaderElection() bool { return false }

// ForOverlays are the kinds that NodeOverlays need.
func ForOverlays() []client.Object { return []client.Object{&overlayv1alpha1.NodeOverlay{}} }

// ForBuffers are those that CapacityBuffers need. The rights are in deploy/rbac/capacity-buffers.yaml.
func ForBuffers() []client.Object {
	return []client.Object{&bufferv1beta1.CapacityBuffer{}, &corev1.PodTemplate{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}}
}

func watched() []client.Object {
	return []client.Object{
		&karpv1.NodePool{}, &karpv1.NodeClaim{}, &v1alpha1.NodePolicy{}, &v1alpha1.DisruptionRequest{},
		&corev1.Node{}, &corev1.Pod{}, &corev1.Namespace{}, &corev1.LimitRange{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{},
		&appsv1.DaemonSet{}, &appsv1.ReplicaSet{}, &batchv1.Job{}, &policyv1.PodDisruptionBudget{},
		&storagev1.StorageClass{}, &storagev1.CSIDriver{}, &storagev1.CSINode{}, &storagev1.VolumeAttachment{},
	}
}

// Start subscribes to every kind and returns when the context ends.
func (w *watcher) Start(ctx context.Context) error {
	var synced []toolscache.InformerSynced
	for _, kind := range w.kinds {
		informer, err := w.cache.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		registration, err := informer.AddEventHandler(w.handler())
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		synced = append(synced, registration.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	w.store.MarkSynced()
	<-ctx.Done()
	return nil
}

func (w *watcher) handler() toolscache.ResourceEventHandler {
	update := func(obj any) {
		if o, ok := obj.(client.Object); ok {
			w.store.Update(o)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    update,
		UpdateFunc: func(_, obj any) { update(obj) },
		DeleteFunc: func(obj any) {
			if missed, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = missed.Obj
			}
			if o, ok := obj.(client.Object); ok {
				w.store.Delete(o)
			}
		},
	}
}
