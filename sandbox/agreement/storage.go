package agreement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Storage is what a cluster has of volumes.
type Storage struct {
	Claims  []*corev1.PersistentVolumeClaim
	Volumes []*corev1.PersistentVolume
	Classes []*storagev1.StorageClass
	// Attachments are volumes that are attached to nodes, used or not.
	Attachments []*storagev1.VolumeAttachment
}

// storageOf is a snapshot's storage.
func storageOf(v *snapshot.Volumes) Storage {
	out := Storage{
		Claims:  slices.Collect(maps.Values(v.Claims)),
		Volumes: slices.Collect(maps.Values(v.Volumes)),
		Classes: slices.Collect(maps.Values(v.StorageClasses)),
	}
	for _, list := range v.Attachments {
		out.Attachments = append(out.Attachments, list...)
	}
	return out
}

// addEphemeral makes the claims of a pod's generic ephemeral volumes, as a
// controller does.
func (s *Storage) addEphemeral(p *corev1.Pod) {
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if v.Ephemeral == nil {
			continue
		}
		c := &corev1.PersistentVolumeClaim{Spec: v.Ephemeral.VolumeClaimTemplate.Spec}
		c.Namespace, c.Name = p.Namespace, ephemeral.VolumeClaimName(p, v)
		c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p, corev1.SchemeGroupVersion.WithKind("Pod"))}
		s.Claims = append(s.Claims, c)
	}
}

func bindClaim(c *corev1.PersistentVolumeClaim, pv string) {
	c.Spec.VolumeName, c.Status.Phase = pv, corev1.ClaimBound
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBindCompleted, "yes")
}

// claimsOf are the names of the claims that a pod mounts.
func claimsOf(p *corev1.Pod) []string {
	var out []string
	for i := range p.Spec.Volumes {
		switch v := &p.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, ephemeral.VolumeClaimName(p, v))
		}
	}
	return out
}

// provision does what happens to the claims of a pod that was bound: each gets a
// volume, one that is there or a new one in the zone of the node.
func (s *Scheduler) provision(p *corev1.Pod, node *corev1.Node) error {
	claims := s.stores.Core().V1().PersistentVolumeClaims()
	for _, name := range claimsOf(p) {
		claim, err := claims.Lister().PersistentVolumeClaims(p.Namespace).Get(name)
		if err != nil {
			return fmt.Errorf("binding pod %s: %w", p.Name, err)
		}
		if claim.Spec.VolumeName != "" {
			continue
		}
		pv, err := s.volumeFor(claim, node)
		if err != nil {
			return fmt.Errorf("binding pod %s: %w", p.Name, err)
		}
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
		claim = claim.DeepCopy()
		bindClaim(claim, pv.Name)
		if err := claims.Informer().GetIndexer().Update(claim); err != nil {
			return err
		}
		if err := s.stores.Core().V1().PersistentVolumes().Informer().GetIndexer().Update(pv); err != nil {
			return err
		}
	}
	return nil
}

// volumeFor is a copy of the volume that a claim gets on a node.
func (s *Scheduler) volumeFor(claim *corev1.PersistentVolumeClaim, node *corev1.Node) (*corev1.PersistentVolume, error) {
	var there []*corev1.PersistentVolume
	for _, o := range s.stores.Core().V1().PersistentVolumes().Informer().GetIndexer().List() {
		there = append(there, o.(*corev1.PersistentVolume))
	}
	slices.SortFunc(there, func(a, b *corev1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
	found, err := volume.FindMatchingVolume(claim, there, node, nil, true, true)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return found.DeepCopy(), nil
	}
	class, err := s.stores.Storage().V1().StorageClasses().Lister().Get(volume.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return nil, err
	}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "made-for-" + claim.Namespace + "-" + claim.Name}}
	pv.Spec.StorageClassName = class.Name
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: pv.Name}
	pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Labels[corev1.LabelTopologyZone]}}}}}}}
	return pv, nil
}
