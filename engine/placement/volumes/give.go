package volumes

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// give hands out the volumes that are there for the taking: each to one claim, and
// to as many claims as possible.
func (b *Book) give(uses []Use) {
	b.given = map[types.NamespacedName]*corev1.PersistentVolume{}
	byClass := b.available()
	if len(byClass) == 0 {
		return
	}
	m := &matching{choices: map[types.NamespacedName][]*corev1.PersistentVolume{}, owner: map[*corev1.PersistentVolume]types.NamespacedName{}}
	for name, claim := range b.seeking(uses) {
		for _, pv := range byClass[b.className(claim)] {
			if suits(pv, name, claim) {
				m.choices[name] = append(m.choices[name], pv)
			}
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(m.choices), compareNames) {
		m.find(name, map[*corev1.PersistentVolume]bool{})
	}
	for pv, name := range m.owner {
		b.given[name] = pv
	}
}

// seeking are the claims of the pods that have no volume yet.
func (b *Book) seeking(uses []Use) map[types.NamespacedName]*corev1.PersistentVolumeClaim {
	out := map[types.NamespacedName]*corev1.PersistentVolumeClaim{}
	for _, u := range uses {
		for _, c := range u.Shape.VolumeClaims {
			name := types.NamespacedName{Namespace: u.Shape.Namespace, Name: c.Name}
			switch claim := b.s.Volumes.Claims[name]; {
			case claim == nil && c.Template != nil:
				out[name] = &corev1.PersistentVolumeClaim{Spec: *c.Template}
			case claim != nil && claim.Spec.VolumeName == "":
				out[name] = claim
			}
		}
	}
	return out
}

// available are the volumes without a claim, by class, the smallest first as the
// scheduler takes them.
func (b *Book) available() map[string][]*corev1.PersistentVolume {
	out := map[string][]*corev1.PersistentVolume{}
	for _, pv := range b.s.Volumes.Volumes {
		// A volume from a manifest that was never applied has no phase.
		if pv.Status.Phase != "" && pv.Status.Phase != corev1.VolumeAvailable || pv.DeletionTimestamp != nil {
			continue
		}
		out[classOf(pv)] = append(out[classOf(pv)], pv)
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b *corev1.PersistentVolume) int {
			x, y := a.Spec.Capacity[corev1.ResourceStorage], b.Spec.Capacity[corev1.ResourceStorage]
			return cmp.Or(x.Cmp(y), cmp.Compare(a.Name, b.Name))
		})
	}
	return out
}

func classOf(pv *corev1.PersistentVolume) string {
	if name, ok := pv.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	return pv.Spec.StorageClassName
}

// suits reports whether a volume is what a claim asks for.
func suits(pv *corev1.PersistentVolume, name types.NamespacedName, claim *corev1.PersistentVolumeClaim) bool {
	want, have := claim.Spec.Resources.Requests[corev1.ResourceStorage], pv.Spec.Capacity[corev1.ResourceStorage]
	switch {
	case !free(pv, name) || have.Cmp(want) < 0:
		return false
	case ptr.Deref(claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) != ptr.Deref(pv.Spec.VolumeMode, corev1.PersistentVolumeFilesystem):
		return false
	case ptr.Deref(claim.Spec.VolumeAttributesClassName, "") != ptr.Deref(pv.Spec.VolumeAttributesClassName, ""):
		return false
	case meant(pv, name):
		return true
	}
	for _, mode := range claim.Spec.AccessModes {
		if !slices.Contains(pv.Spec.AccessModes, mode) {
			return false
		}
	}
	if claim.Spec.Selector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(claim.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pv.Labels))
}

// matching finds volumes for claims, moving earlier ones to another volume where
// that helps.
type matching struct {
	choices map[types.NamespacedName][]*corev1.PersistentVolume
	owner   map[*corev1.PersistentVolume]types.NamespacedName
}

func (m *matching) find(name types.NamespacedName, tried map[*corev1.PersistentVolume]bool) bool {
	for _, pv := range m.choices[name] {
		if tried[pv] {
			continue
		}
		tried[pv] = true
		owner, taken := m.owner[pv]
		if !taken || m.find(owner, tried) {
			m.owner[pv] = name
			return true
		}
	}
	return false
}
