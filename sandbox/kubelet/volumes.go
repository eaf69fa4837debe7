package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// volume is one CSI volume of a pod. Other kinds need no waiting.
type volume struct {
	name   corev1.UniqueVolumeName // as in the node's status
	driver string
	pv     string
	attach bool // the driver attaches volumes before they are mounted
}

// volumesOf resolves the claims of a pod. The scheduler binds a pod after its
// claims, so a claim that is not bound is one that is not seen bound yet.
func (k *Kubelets) volumesOf(pod *corev1.Pod) ([]volume, error) {
	var out []volume
	for _, v := range pod.Spec.Volumes {
		claim := claimName(pod, v)
		if claim == "" {
			continue
		}
		pvc, err := k.claimLister.PersistentVolumeClaims(pod.Namespace).Get(claim)
		if err != nil {
			return nil, fmt.Errorf("reading claim of pod: %w", err)
		}
		if pvc.Spec.VolumeName == "" {
			return nil, fmt.Errorf("claim %s/%s is not bound", pvc.Namespace, pvc.Name)
		}
		pv, err := k.volumeLister.Get(pvc.Spec.VolumeName)
		if err != nil {
			return nil, fmt.Errorf("reading volume of claim %s/%s: %w", pvc.Namespace, pvc.Name, err)
		}
		if csi := pv.Spec.CSI; csi != nil {
			out = append(out, volume{
				name:   corev1.UniqueVolumeName("kubernetes.io/csi/" + csi.Driver + "^" + csi.VolumeHandle),
				driver: csi.Driver,
				pv:     pv.Name,
				attach: k.attaches(csi.Driver),
			})
		}
	}
	return out, nil
}

// claimName is the claim behind a volume of a pod, empty if there is none.
func claimName(pod *corev1.Pod, v corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	default:
		return ""
	}
}

// attaches says whether volumes of a driver are attached; unless it says
// otherwise, they are.
func (k *Kubelets) attaches(driver string) bool {
	d, err := k.driverLister.Get(driver)
	return err != nil || d.Spec.AttachRequired == nil || *d.Spec.AttachRequired
}

// canMount says whether all volumes are attached, as the node's status tells
// after it told that they are in use, and their drivers are able to mount.
func (k *Kubelets) canMount(node *corev1.Node, volumes []volume) bool {
	settings := k.Knobs.Settings()
	for _, v := range volumes {
		if v.attach && !(slices.Contains(node.Status.VolumesInUse, v.name) && attached(node, v.name)) {
			return false
		}
		if !k.Plugins.Present(v.driver, node.Name) {
			return false
		}
		if settings.On(knobs.MountHang, k.ofVolume(v), knobs.OfNode(node)) {
			return false
		}
	}
	return true
}

func (k *Kubelets) canUnmount(node *corev1.Node, volumes []volume) bool {
	settings := k.Knobs.Settings()
	for _, v := range volumes {
		if !k.Plugins.Present(v.driver, node.Name) {
			return false
		}
		if settings.On(knobs.UnmountHang, k.ofVolume(v), knobs.OfNode(node)) {
			return false
		}
	}
	return true
}

// ofVolume is a volume as the subject of a knob.
func (k *Kubelets) ofVolume(v volume) knobs.Subject {
	pv, err := k.volumeLister.Get(v.pv)
	if err != nil {
		return knobs.OfVolumeName(v.pv)
	}
	return knobs.OfVolume(pv)
}

func attached(node *corev1.Node, name corev1.UniqueVolumeName) bool {
	return slices.ContainsFunc(node.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == name })
}
