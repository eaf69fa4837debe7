package doctor

import (
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
)

// zonal are the drivers whose volumes are in one zone each.
var zonal = []string{"disk.csi.azure.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io"}

// volumesInAnyZone are of StorageClasses that make zonal volumes before it is known where
// their pods will run.
func volumesInAnyZone(in *Inventory) []Finding {
	var out []Finding
	for _, c := range in.StorageClasses {
		waits := c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
		if waits || !slices.Contains(zonal, c.Provisioner) {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: refOf("StorageClass", c), Field: "volumeBindingMode",
			Message: fmt.Sprintf("is Immediate: %s makes each volume in some zone, and the pod that comes later has to run there, whatever its pool, its spread or the capacity say", c.Provisioner),
			Advice:  "make the class anew with volumeBindingMode: WaitForFirstConsumer; the field cannot be changed",
		})
	}
	return out
}
