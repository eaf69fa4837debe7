package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Volumes is the storage side of a cluster.
type Volumes struct {
	Claims         map[types.NamespacedName]*corev1.PersistentVolumeClaim
	Volumes        map[string]*corev1.PersistentVolume
	StorageClasses map[string]*storagev1.StorageClass
	// Drivers are the cluster's CSIDriver objects, by name; a driver may have none.
	Drivers map[string]*storagev1.CSIDriver
	// CSINodes are by node name.
	CSINodes map[string]*storagev1.CSINode
	// Attachments are by node name, each list by attachment name.
	Attachments map[string][]*storagev1.VolumeAttachment
}
