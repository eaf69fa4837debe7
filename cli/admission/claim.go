package admission

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// defaultClass is the annotation that makes a StorageClass the default, in its
// stable and its old form.
var defaultClass = []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}

// Claim gives a claim that names no storage class the default one, if there is
// one among the classes: of several the newest and then the first by name, as in
// the API server. An empty name is a choice and stays.
func Claim(claim *corev1.PersistentVolumeClaim, classes []*storagev1.StorageClass) {
	if claim.Spec.StorageClassName != nil || claim.Annotations["volume.beta.kubernetes.io/storage-class"] != "" {
		return
	}
	var found *storagev1.StorageClass
	for _, c := range classes {
		if isDefault(c) && (found == nil || precedes(c, found)) {
			found = c
		}
	}
	if found != nil {
		name := found.Name
		claim.Spec.StorageClassName = &name
	}
}

func isDefault(c *storagev1.StorageClass) bool {
	for _, key := range defaultClass {
		if c.Annotations[key] == "true" {
			return true
		}
	}
	return false
}

func precedes(a, b *storagev1.StorageClass) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.Name < b.Name
}
