package volumes

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// id names a volume that a CSI driver attaches. A claim without a volume stands for
// the one that it will have.
type id struct{ driver, handle string }

// volumesOf are the volumes of a shape's pods that count on a node, each once.
func (b *Book) volumesOf(shape *snapshot.Shape) []id {
	var out []id
	add := func(x id) {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	for _, c := range shape.VolumeClaims {
		if x, ok := b.identify(types.NamespacedName{Namespace: shape.Namespace, Name: c.Name}, c.Template); ok {
			add(x)
		}
	}
	for _, d := range shape.Disks {
		if d.Driver != "" {
			add(id{d.Driver, d.Name})
		}
	}
	return out
}

// identify finds the volume of a claim, or that it is none that counts.
func (b *Book) identify(name types.NamespacedName, template *corev1.PersistentVolumeClaimSpec) (id, bool) {
	claim := b.s.Volumes.Claims[name]
	if claim == nil {
		if template == nil {
			return id{}, false
		}
		claim = &corev1.PersistentVolumeClaim{Spec: *template}
	}
	pv := b.s.Volumes.Volumes[claim.Spec.VolumeName]
	if pv == nil && claim.Spec.VolumeName == "" {
		pv = b.given[name]
	}
	if pv != nil {
		return volumeID(pv)
	}
	class := b.s.Volumes.StorageClasses[b.className(claim)]
	if class == nil || class.Provisioner == noProvisioner {
		return id{}, false
	}
	return id{csiDriver(class.Provisioner), "claim " + name.String()}, true
}

// volumeID names a volume by the CSI driver that attaches it: its own, or the one
// that took over from a driver that was built into Kubernetes.
func volumeID(pv *corev1.PersistentVolume) (id, bool) {
	switch s := &pv.Spec; {
	case s.CSI != nil:
		return id{s.CSI.Driver, s.CSI.VolumeHandle}, true
	case s.AWSElasticBlockStore != nil:
		return id{csiDriver("kubernetes.io/aws-ebs"), ebsID(s.AWSElasticBlockStore.VolumeID)}, true
	case s.GCEPersistentDisk != nil:
		return id{csiDriver("kubernetes.io/gce-pd"), s.GCEPersistentDisk.PDName}, true
	case s.AzureDisk != nil:
		return id{csiDriver("kubernetes.io/azure-disk"), s.AzureDisk.DataDiskURI}, true
	case s.Cinder != nil:
		return id{csiDriver("kubernetes.io/cinder"), s.Cinder.VolumeID}, true
	case s.PortworxVolume != nil:
		return id{csiDriver("kubernetes.io/portworx-volume"), s.PortworxVolume.VolumeID}, true
	}
	return id{}, false
}

// ebsID is the last part of aws://zone/vol-1, or all of vol-1.
func ebsID(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// csiDriver translates the provisioners that Kubernetes once had built in.
func csiDriver(provisioner string) string {
	switch provisioner {
	case "kubernetes.io/aws-ebs":
		return "ebs.csi.aws.com"
	case "kubernetes.io/gce-pd":
		return "pd.csi.storage.gke.io"
	case "kubernetes.io/azure-disk":
		return "disk.csi.azure.com"
	case "kubernetes.io/cinder":
		return "cinder.csi.openstack.org"
	case "kubernetes.io/portworx-volume":
		return "pxd.portworx.com"
	}
	return provisioner
}

// Room is how many volumes of a driver can still be attached to a node that takes
// so many, and whether the volumes that pods share are among them. n is nil for a
// node that does not exist yet.
//
// What is attached, is being attached, or is not detached yet counts whatever used
// it. The scheduler counts the volume of a new pod beside it, even if it is the
// same, and so does Room.
func (b *Book) Room(n *snapshot.Node, driver string, limit int64) (left int64, shares bool) {
	used, held := map[id]bool{}, map[id]bool{}
	if n != nil {
		used, held = b.used(n, driver), b.held(n, driver)
	}
	left = limit - int64(len(used))
	for x := range held {
		if !used[x] {
			left--
		}
	}
	kept := int64(0)
	for x := range b.shared[driver] {
		if !used[x] {
			kept++
		}
	}
	if left < kept {
		return max(0, left), kept == 0
	}
	return left - kept, true
}

// used are a driver's volumes that the pods of a node use.
func (b *Book) used(n *snapshot.Node, driver string) map[id]bool {
	out := map[id]bool{}
	for _, p := range n.Pods {
		if p.Terminal() {
			continue
		}
		for _, x := range b.volumesOf(p.Class.Shape) {
			if x.driver == driver {
				out[x] = true
			}
		}
	}
	return out
}

// held are a driver's volumes that VolumeAttachments name for a node.
func (b *Book) held(n *snapshot.Node, driver string) map[id]bool {
	out := map[id]bool{}
	for _, a := range b.s.Volumes.Attachments[n.Name] {
		name := a.Spec.Source.PersistentVolumeName
		if a.Spec.Attacher != driver || name == nil {
			continue
		}
		if pv := b.s.Volumes.Volumes[*name]; pv != nil && pv.Spec.CSI != nil {
			out[id{driver, pv.Spec.CSI.VolumeHandle}] = true
		}
	}
	return out
}

// Limit is the number of a driver's volumes that a node takes, as its CSINode
// says. It is not known until the driver is there.
func Limit(node, driver string, v *snapshot.Volumes) (limit int64, limited, known bool) {
	csi := v.CSINodes[node]
	if csi == nil {
		return 0, false, false
	}
	for _, d := range csi.Spec.Drivers {
		if d.Name != driver {
			continue
		}
		if d.Allocatable == nil || d.Allocatable.Count == nil {
			return 0, false, true
		}
		return int64(*d.Allocatable.Count), true, true
	}
	return 0, false, false
}
