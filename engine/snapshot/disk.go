package snapshot

import corev1 "k8s.io/api/core/v1"

// disksOf collects the disks that a pod names itself. It allocates nothing for a
// pod that has none.
func disksOf(pod *corev1.Pod) []Disk {
	var out []Disk
	for i := range pod.Spec.Volumes {
		out = append(out, disks(&pod.Spec.Volumes[i])...)
	}
	return out
}

// disks are what one volume counts as: a Ceph image is one for each of its
// monitors, since two that have one in common may be the same.
func disks(v *corev1.Volume) []Disk {
	switch {
	case v.AWSElasticBlockStore != nil:
		name := v.AWSElasticBlockStore.VolumeID
		return []Disk{{Driver: "ebs.csi.aws.com", Name: name, Clash: "ebs/" + name}}
	case v.GCEPersistentDisk != nil:
		name := v.GCEPersistentDisk.PDName
		return []Disk{{Driver: "pd.csi.storage.gke.io", Name: name, Clash: "gce/" + name, ReadOnly: v.GCEPersistentDisk.ReadOnly}}
	case v.AzureDisk != nil:
		return []Disk{{Driver: "disk.csi.azure.com", Name: v.AzureDisk.DataDiskURI}}
	case v.Cinder != nil:
		return []Disk{{Driver: "cinder.csi.openstack.org", Name: v.Cinder.VolumeID}}
	case v.ISCSI != nil:
		return []Disk{{Clash: "iscsi/" + v.ISCSI.IQN, ReadOnly: v.ISCSI.ReadOnly}}
	case v.RBD != nil:
		var out []Disk
		for _, monitor := range v.RBD.CephMonitors {
			out = append(out, Disk{Clash: "rbd/" + monitor + "/" + v.RBD.RBDPool + "/" + v.RBD.RBDImage, ReadOnly: v.RBD.ReadOnly})
		}
		return out
	}
	return nil
}
