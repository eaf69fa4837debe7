package cluster

import (
	"cmp"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
)

// Update takes in an object that was added or changed. Kinds that the store does
// not know are ignored, and so is a state that is older than what it has.
func (s *Store) Update(obj client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, known := identify(obj)
	old, exists := s.objects[name]
	if !known || exists && !supersedes(obj, old) || s.gone.has(obj) {
		return
	}
	s.objects[name] = obj
	s.respread(obj, false)
	switch o := obj.(type) {
	case *karpv1.NodePool:
		s.pools.put(o.Name, s.govern(Pool(o, s.options)))
	case *v1alpha1.NodePolicy:
		s.policies.put(o.Name, o)
		s.governAll()
	case *overlayv1alpha1.NodeOverlay:
		s.putOverlay(o)
	case *v1alpha1.DisruptionRequest:
		s.requests.put(o.Name, request(o))
	case *karpv1.NodeClaim:
		s.claims.put(o.Name, &claim{o, Claim(o)})
		s.machines.rejoin = true
	case *corev1.Node:
		s.putNode(o)
	case *corev1.Pod:
		s.tell(o)
		s.putPod(o)
	case *appsv1.DaemonSet:
		s.daemonSets.put(o)
	case *appsv1.ReplicaSet:
		s.owners.put(o.UID, wantedByReplicaSet(o))
		s.buffers.putTemplate(name, workload(&o.Spec.Template, o.Spec.Replicas))
	case *appsv1.Deployment:
		s.buffers.putTemplate(name, workload(&o.Spec.Template, o.Spec.Replicas))
	case *appsv1.StatefulSet:
		s.buffers.putTemplate(name, workload(&o.Spec.Template, o.Spec.Replicas))
	case *corev1.PodTemplate:
		s.buffers.putTemplate(name, template{pod: &o.Template, generation: o.Generation})
	case *bufferv1beta1.CapacityBuffer:
		s.buffers.put(o)
	case *batchv1.Job:
		s.owners.put(o.UID, WantedByJob(o))
	case *corev1.LimitRange:
		s.daemonSets.putRange(o)
		s.buffers.touch()
	case *policyv1.PodDisruptionBudget:
		s.pdbs.put(key(o), o)
	case *corev1.Service:
		s.buffers.touch()
	case *corev1.Namespace:
		s.namespaces.put(o.Name, o.Labels)
	default:
		s.updateStorage(obj)
	}
}

func (s *Store) updateStorage(obj client.Object) {
	switch o := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		s.pvcs.put(client.ObjectKeyFromObject(o), o)
	case *corev1.PersistentVolume:
		s.pvs.put(o.Name, o)
	case *storagev1.StorageClass:
		s.storageClasses.put(o.Name, o)
	case *storagev1.CSIDriver:
		s.csiDrivers.put(o.Name, o)
	case *storagev1.CSINode:
		s.csiNodes.put(o.Name, o)
	case *storagev1.VolumeAttachment:
		s.dropAttachment(o.Name)
		s.attachments[o.Name] = o
		list := append(slices.Clone(s.attachmentsOf.entries[o.Spec.NodeName]), o)
		slices.SortFunc(list, func(a, b *storagev1.VolumeAttachment) int { return cmp.Compare(a.Name, b.Name) })
		s.attachmentsOf.put(o.Spec.NodeName, list)
	default:
		s.devices.put(obj)
	}
}

// Has reports whether the store has an object in the state that is given, or in a later one.
func (s *Store) Has(obj client.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, _ := identify(obj)
	old, exists := s.objects[name]
	return exists && (old.GetResourceVersion() == obj.GetResourceVersion() || !supersedes(obj, old))
}

// Delete takes in that an object is gone. It does nothing if the name belongs to
// a newer object by now.
func (s *Store) Delete(obj client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone.add(obj)
	if pod, ok := obj.(*corev1.Pod); ok {
		s.tell(pod)
	}
	name, _ := identify(obj)
	old, exists := s.objects[name]
	if !exists || old.GetUID() != obj.GetUID() && obj.GetUID() != "" {
		return
	}
	delete(s.objects, name)
	s.respread(obj, true)
	switch o := obj.(type) {
	case *karpv1.NodePool:
		s.pools.drop(o.Name)
		delete(s.overlaid, o.Name)
	case *v1alpha1.NodePolicy:
		s.policies.drop(o.Name)
		s.governAll()
	case *overlayv1alpha1.NodeOverlay:
		s.overlays.drop(o.Name)
	case *v1alpha1.DisruptionRequest:
		s.requests.drop(o.Name)
	case *karpv1.NodeClaim:
		s.claims.drop(o.Name)
		s.machines.rejoin = true
	case *corev1.Node:
		s.nodes.drop(o.Name)
		s.machines.rejoin = true
	case *corev1.Pod:
		s.forgetPlanned(o)
		s.dropPod(key(o))
	case *appsv1.DaemonSet:
		s.daemonSets.drop(key(o))
	case *appsv1.ReplicaSet:
		s.owners.put(old.GetUID(), 0)
		s.buffers.dropTemplate(name)
	case *batchv1.Job:
		s.owners.put(old.GetUID(), 0)
	case *appsv1.Deployment, *appsv1.StatefulSet, *corev1.PodTemplate:
		s.buffers.dropTemplate(name)
	case *bufferv1beta1.CapacityBuffer:
		s.buffers.drop(key(o))
	case *corev1.LimitRange:
		s.daemonSets.dropRange(o)
		s.buffers.touch()
	case *policyv1.PodDisruptionBudget:
		s.pdbs.drop(key(o))
	case *corev1.Service:
		s.buffers.touch()
	case *corev1.Namespace:
		s.namespaces.drop(o.Name)
	default:
		s.deleteStorage(obj)
	}
}

func (s *Store) deleteStorage(obj client.Object) {
	switch o := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		s.pvcs.drop(client.ObjectKeyFromObject(o))
	case *corev1.PersistentVolume:
		s.pvs.drop(o.Name)
	case *storagev1.StorageClass:
		s.storageClasses.drop(o.Name)
	case *storagev1.CSIDriver:
		s.csiDrivers.drop(o.Name)
	case *storagev1.CSINode:
		s.csiNodes.drop(o.Name)
	case *storagev1.VolumeAttachment:
		s.dropAttachment(o.Name)
	default:
		s.devices.drop(obj)
	}
}

func (s *Store) dropAttachment(name string) {
	old, ok := s.attachments[name]
	if !ok {
		return
	}
	delete(s.attachments, name)
	node := old.Spec.NodeName
	rest := slices.DeleteFunc(slices.Clone(s.attachmentsOf.entries[node]), func(a *storagev1.VolumeAttachment) bool { return a.Name == name })
	if len(rest) == 0 {
		s.attachmentsOf.drop(node)
		return
	}
	s.attachmentsOf.put(node, rest)
}

// id names an object across kinds.
type id struct{ kind, key string }

// identify names an object of a kind that the store knows.
func identify(obj client.Object) (id, bool) {
	switch obj.(type) {
	case *karpv1.NodePool, *v1alpha1.NodePolicy, *overlayv1alpha1.NodeOverlay,
		*v1alpha1.DisruptionRequest, *karpv1.NodeClaim, *corev1.Node, *corev1.Pod, *corev1.Namespace,
		*appsv1.DaemonSet, *appsv1.ReplicaSet, *appsv1.Deployment, *appsv1.StatefulSet,
		*corev1.PodTemplate, *bufferv1beta1.CapacityBuffer, *batchv1.Job, *corev1.LimitRange,
		*corev1.Service, *corev1.ReplicationController,
		*policyv1.PodDisruptionBudget, *corev1.PersistentVolumeClaim, *corev1.PersistentVolume,
		*storagev1.StorageClass, *storagev1.CSIDriver, *storagev1.CSINode, *storagev1.VolumeAttachment,
		*resourcev1.DeviceClass, *resourcev1.ResourceClaim, *resourcev1.ResourceClaimTemplate,
		*resourcev1.ResourceSlice:
		return id{reflect.TypeOf(obj).Elem().Name(), key(obj)}, true
	}
	return id{"", key(obj)}, false
}

// supersedes reports whether a state is newer than the stored one. Resource
// versions of one kind are ordered; objects from files have none.
func supersedes(obj, old client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), old.GetResourceVersion())
	return err != nil || order > 0
}

// tombstones remember the claims that are gone, so that the answer to a write
// that arrives after the deletion does not bring them back. Only claims are
// inserted by their writers. The oldest is forgotten first.
type tombstones struct {
	uids  map[types.UID]struct{}
	order []types.UID
}

const tombstonesKept = 4096

func newTombstones() tombstones { return tombstones{uids: map[types.UID]struct{}{}} }

func (t *tombstones) has(obj client.Object) bool {
	_, ok := t.uids[obj.GetUID()]
	return ok
}

func (t *tombstones) add(obj client.Object) {
	switch obj.(type) {
	case *karpv1.NodeClaim, *corev1.Node:
	default:
		return
	}
	if obj.GetUID() == "" || t.has(obj) {
		return
	}
	if len(t.order) == tombstonesKept {
		delete(t.uids, t.order[0])
		t.order = t.order[1:]
	}
	t.uids[obj.GetUID()] = struct{}{}
	t.order = append(t.order, obj.GetUID())
}
