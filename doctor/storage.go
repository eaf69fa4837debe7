package doctor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/requirement"
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
			Advice:  "make the class anew with volumeBindingMode: WaitForFirstConsumer; the field cannot be changed, and volumes that exist stay",
			Patch:   finding.Anew("storage.k8s.io/v1", "StorageClass", c, step("add", "/volumeBindingMode", string(storagev1.VolumeBindingWaitForFirstConsumer))),
		})
	}
	return out
}

// zoneLabels are those by which StorageClasses name zones.
var zoneLabels = []string{corev1.LabelTopologyZone, "topology.ebs.csi.aws.com/zone", "topology.gke.io/zone", "topology.disk.csi.azure.com/zone", corev1.LabelFailureDomainBetaZone}

// volumesOutOfReach are of StorageClasses that make them only in zones where no pool launches.
func volumesOutOfReach(in *Inventory) []Finding {
	if len(in.Pools) == 0 || len(in.Groups) > 0 {
		return nil // other nodes may be there
	}
	var out []Finding
	for _, sc := range in.StorageClasses {
		zones := zonesOf(sc)
		if len(zones) == 0 {
			continue
		}
		is, err := requirement.New(corev1.LabelTopologyZone, requirement.In, zones...)
		if err != nil {
			continue // zones that are no labels; the API server says so of volumes
		}
		there := []requirement.Set{requirement.Set(nil).With(is)}
		if slices.ContainsFunc(in.Pools, func(np *karpv1.NodePool) bool { return in.offers(np, there) }) {
			continue
		}
		f := Finding{
			Severity: Warning, Object: refOf("StorageClass", sc), Field: "allowedTopologies",
			Message: fmt.Sprintf("are only %s, where no NodePool launches: pods with such a volume wait for ever", strings.Join(zones, ", ")),
			Advice:  "let a NodePool launch there, or make the class anew for zones of the pools",
		}
		if in.Complete {
			f.Severity = Error
		}
		out = append(out, f)
	}
	return out
}

// zonesOf are the zones to which a StorageClass is confined; none if it is not.
func zonesOf(sc *storagev1.StorageClass) []string {
	var out []string
	for _, term := range sc.AllowedTopologies {
		confined := false
		for _, e := range term.MatchLabelExpressions {
			if slices.Contains(zoneLabels, e.Key) {
				confined, out = true, append(out, e.Values...)
			}
		}
		if !confined {
			return nil
		}
	}
	return out
}
