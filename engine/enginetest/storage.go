package enginetest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
)

// storage makes classes, volumes, claims, and what is attached to nodes.
func (s *Scenario) storage(t testing.TB, c storytest.Command) {
	t.Helper()
	v := &s.Volumes
	if v.Claims == nil {
		v.Claims, v.Volumes, v.StorageClasses = map[types.NamespacedName]*corev1.PersistentVolumeClaim{}, map[string]*corev1.PersistentVolume{}, map[string]*storagev1.StorageClass{}
		v.CSINodes, v.Attachments = map[string]*storagev1.CSINode{}, map[string][]*storagev1.VolumeAttachment{}
	}
	switch c.Name {
	case "class":
		v.StorageClasses[c.Args[0]] = storageClass(c)
	case "volume":
		v.Volumes[c.Args[0]] = volume(t, c)
		s.bind(c)
	case "claim":
		claim := volumeClaim(t, c)
		v.Claims[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}] = claim
	case "csinode":
		v.CSINodes[c.Args[0]] = csiNode(t, c)
	case "attachment":
		s.attach(c)
	}
}

func storageClass(c storytest.Command) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	if c.Has("immediate") {
		mode = storagev1.VolumeBindingImmediate
	}
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: c.Args[0]}, Provisioner: option(c, "driver", "csi.example"), VolumeBindingMode: &mode}
	if c.Has("default") {
		class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	// Alternatives are separated by "|".
	for _, zones := range strings.Split(c.Options["zones"], "|") {
		if zones != "" {
			class.AllowedTopologies = append(class.AllowedTopologies, corev1.TopologySelectorTerm{
				MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: list(zones)}}})
		}
	}
	return class
}

func volume(t testing.TB, c storytest.Command) *corev1.PersistentVolume {
	t.Helper()
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.Args[0], Labels: exact(c.Options["labels"])}}
	pv.Spec.StorageClassName, pv.Status.Phase = c.Options["class"], corev1.VolumeAvailable
	pv.Spec.AccessModes, pv.Spec.VolumeMode = accessModes(c), volumeMode(c)
	pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: quantity(t, option(c, "size", "10Gi"))}
	switch c.Options["source"] {
	case "":
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: option(c, "driver", "csi.example"), VolumeHandle: option(c, "handle", pv.Name)}
	case "aws":
		pv.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: option(c, "handle", pv.Name)}
	case "local":
		pv.Spec.Local = &corev1.LocalVolumeSource{Path: "/disk"}
	default:
		t.Fatalf("volume %s: unknown source %s", pv.Name, c.Options["source"])
	}
	var terms []corev1.NodeSelectorTerm
	for _, term := range strings.Split(c.Options["nodes"], "|") {
		if term != "" {
			terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: expressions(term)})
		}
	}
	if c.Has("zones") {
		terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: expressions("zone:In:" + c.Options["zones"])})
	}
	if len(terms) > 0 {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
	if c.Has("deleting") {
		pv.DeletionTimestamp = ptr.To(metav1.NewTime(now))
	}
	return pv
}

// bind makes the claim that a volume is bound to, or only names it as the one
// that the volume waits for.
func (s *Scenario) bind(c storytest.Command) {
	pv := s.Volumes.Volumes[c.Args[0]]
	name := option(c, "claim", c.Options["for"])
	if name == "" {
		return
	}
	at := types.NamespacedName{Namespace: option(c, "namespace", "default"), Name: name}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: at.Namespace, Name: at.Name}
	if c.Has("for") {
		return
	}
	pv.Status.Phase = corev1.VolumeBound
	s.Volumes.Claims[at] = &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: pv.Name, AccessModes: accessModes(c), StorageClassName: ptr.To(pv.Spec.StorageClassName)},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
}

func volumeClaim(t testing.TB, c storytest.Command) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: option(c, "namespace", "default"), Name: c.Args[0], Annotations: map[string]string{}}}
	claim.Spec.AccessModes, claim.Spec.VolumeMode, claim.Spec.VolumeName = accessModes(c), volumeMode(c), c.Options["volume"]
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: quantity(t, option(c, "size", "10Gi"))}
	claim.Status.Phase = corev1.PersistentVolumeClaimPhase(option(c, "phase", "Pending"))
	if c.Has("class") {
		claim.Spec.StorageClassName = ptr.To(c.Options["class"])
	}
	if c.Has("old-class") {
		claim.Annotations[corev1.BetaStorageClassAnnotation] = c.Options["old-class"]
	}
	if c.Has("selector") {
		claim.Spec.Selector = &metav1.LabelSelector{MatchLabels: exact(c.Options["selector"])}
	}
	if c.Has("selected-node") {
		claim.Annotations["volume.kubernetes.io/selected-node"] = c.Options["selected-node"]
	}
	if c.Has("of-pod") {
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: c.Options["of-pod"], Controller: ptr.To(true)}}
	}
	if c.Has("deleting") {
		claim.DeletionTimestamp = ptr.To(metav1.NewTime(now))
	}
	return claim
}

// accessModes reads RWO, ROX, RWX and RWOP.
func accessModes(c storytest.Command) []corev1.PersistentVolumeAccessMode {
	full := map[string]corev1.PersistentVolumeAccessMode{"RWO": corev1.ReadWriteOnce, "ROX": corev1.ReadOnlyMany, "RWX": corev1.ReadWriteMany, "RWOP": corev1.ReadWriteOncePod}
	var out []corev1.PersistentVolumeAccessMode
	for _, short := range list(option(c, "access", "RWO")) {
		out = append(out, full[short])
	}
	return out
}

func volumeMode(c storytest.Command) *corev1.PersistentVolumeMode {
	if !c.Has("mode") {
		return nil
	}
	return ptr.To(corev1.PersistentVolumeMode(c.Options["mode"]))
}

func csiNode(t testing.TB, c storytest.Command) *storagev1.CSINode {
	t.Helper()
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: c.Args[0]}}
	for _, entry := range list(c.Options["attach"]) {
		driver, count, limited := strings.Cut(entry, ":")
		d := storagev1.CSINodeDriver{Name: driver, NodeID: c.Args[0]}
		if limited {
			d.Allocatable = &storagev1.VolumeNodeResources{Count: ptr.To(int32(storytest.Number(t, count)))}
		}
		n.Spec.Drivers = append(n.Spec.Drivers, d)
	}
	return n
}

// attach attaches a volume to a node, used or not.
func (s *Scenario) attach(c storytest.Command) {
	node, volume := c.Args[0], c.Args[1]
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: node + "-" + volume}}
	a.Spec.NodeName, a.Spec.Attacher, a.Spec.Source.PersistentVolumeName = node, option(c, "driver", "csi.example"), &volume
	a.Status.Attached = !c.Has("in-flight")
	s.Volumes.Attachments[node] = append(s.Volumes.Attachments[node], a)
}

// exact reads k:v,k:v without abbreviations.
func exact(s string) map[string]string {
	out := map[string]string{}
	for _, entry := range list(s) {
		k, v, _ := strings.Cut(entry, ":")
		out[k] = v
	}
	return out
}
