package drain

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// ebsDriver serves the volumes of EBS that Kubernetes once attached by itself.
const ebsDriver = "ebs.csi.aws.com"

// unique is a volume's name in the status of its node.
func unique(driver, handle string) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName("kubernetes.io/csi/" + driver + "^" + handle)
}

// ofVolume is the name of a volume by its spec; for a volume that no CSI driver
// attaches, one that only tells it from others.
func ofVolume(name string, spec *corev1.PersistentVolumeSpec) corev1.UniqueVolumeName {
	switch {
	case spec.CSI != nil:
		return unique(spec.CSI.Driver, spec.CSI.VolumeHandle)
	case spec.AWSElasticBlockStore != nil:
		return unique(ebsDriver, path.Base(spec.AWSElasticBlockStore.VolumeID))
	}
	return unknown(name)
}

func unknown(volume string) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName("PersistentVolume/" + volume)
}

// attached is the name of what an attachment attaches.
func (x *storage) attached(a *storagev1.VolumeAttachment) corev1.UniqueVolumeName {
	source := a.Spec.Source
	switch {
	case source.InlineVolumeSpec != nil:
		return ofVolume("", source.InlineVolumeSpec)
	case source.PersistentVolumeName == nil:
		return unknown("")
	}
	return x.ofPV(*source.PersistentVolumeName)
}

func (x *storage) ofPV(name string) corev1.UniqueVolumeName {
	if pv := x.view.Volumes.Volumes[name]; pv != nil {
		return ofVolume(name, &pv.Spec)
	}
	return unknown(name)
}

// nameOf is the name of a pod's volume; empty if it is none that is attached.
func (x *storage) nameOf(p *corev1.Pod, v *corev1.Volume) corev1.UniqueVolumeName {
	if v.AWSElasticBlockStore != nil {
		return unique(ebsDriver, path.Base(v.AWSElasticBlockStore.VolumeID))
	}
	claim := x.view.Volumes.Claims[claimOf(p, v)]
	if claim == nil || claim.Spec.VolumeName == "" {
		return ""
	}
	return x.ofPV(claim.Spec.VolumeName)
}

// claimOf names the PersistentVolumeClaim behind a pod's volume; zero if there is
// none.
func claimOf(p *corev1.Pod, volume *corev1.Volume) types.NamespacedName {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return types.NamespacedName{Namespace: p.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}
	case volume.Ephemeral != nil:
		return types.NamespacedName{Namespace: p.Namespace, Name: p.Name + "-" + volume.Name}
	}
	return types.NamespacedName{}
}

// objects are an attachment and, as far as they are known, its volume, the
// volume's claim, and the pod that uses it here or waits for it elsewhere.
func (x *storage) objects(a *storagev1.VolumeAttachment) []plan.ObjectRef {
	volume := ""
	if pv := a.Spec.Source.PersistentVolumeName; pv != nil {
		volume = *pv
	}
	return x.withClaim([]plan.ObjectRef{{Kind: "VolumeAttachment", Name: a.Name}}, volume, x.attached(a))
}

// withClaim adds a volume, its claim and its pod to objects.
func (x *storage) withClaim(out []plan.ObjectRef, volume string, name corev1.UniqueVolumeName) []plan.ObjectRef {
	user := x.leaving[name].pod
	if volume != "" {
		out = append(out, plan.ObjectRef{Kind: "PersistentVolume", Name: volume})
		if claim := x.claimOf(volume); claim.Name != "" {
			out = append(out, plan.ObjectRef{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name})
			if user == nil {
				user = x.view.Waiting[claim]
			}
		}
	}
	if user != nil {
		out = append(out, plan.PodRef(user))
	}
	return out
}

func (x *storage) claimOf(volume string) types.NamespacedName {
	pv := x.view.Volumes.Volumes[volume]
	if pv == nil || pv.Spec.ClaimRef == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: pv.Spec.ClaimRef.Namespace, Name: pv.Spec.ClaimRef.Name}
}

// registered are the CSI drivers that the kubelet knows.
func registered(v View) []string {
	var out []string
	if csi := v.Volumes.CSINodes[v.Node.Name]; csi != nil {
		for _, d := range csi.Spec.Drivers {
			out = append(out, d.Name)
		}
	}
	return out
}

// Waiting are the pods that want a volume which is attached to a node they are
// not on, by claim: those that have no node yet, and those on other nodes.
func Waiting(s *snapshot.Snapshot, node string) map[types.NamespacedName]*corev1.Pod {
	if len(s.Volumes.Attachments[node]) == 0 {
		return nil
	}
	out := map[types.NamespacedName]*corev1.Pod{}
	take := func(list []*snapshot.Pod) {
		for _, p := range list {
			for i := range p.Spec.Volumes {
				if claim := claimOf(p.Pod, &p.Spec.Volumes[i]); claim.Name != "" && !eviction.Terminating(p.Pod) && out[claim] == nil {
					out[claim] = p.Pod
				}
			}
		}
	}
	take(s.Pending)
	for _, n := range s.Nodes {
		if n.Name != node {
			take(n.Pods)
		}
	}
	return out
}
