package csi

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// Annotations by which the volume controllers and a provisioner speak.
const (
	annProvisioner   = "volume.kubernetes.io/storage-provisioner"
	annSelectedNode  = "volume.kubernetes.io/selected-node"
	annProvisionedBy = "pv.kubernetes.io/provisioned-by"
)

// provision makes the volume of one claim, once the claim asks for it.
func (d *Driver) provision(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	pvc, err := d.claimLister.PersistentVolumeClaims(key.Namespace).Get(key.Name)
	if errors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	began := "provision/" + string(pvc.UID)
	class, wanted := d.wanted(pvc)
	if !wanted {
		d.since.forget(began)
		return 0, nil
	}
	node, err := d.selectedNode(pvc)
	if err != nil {
		return 0, d.giveBack(ctx, pvc)
	}
	settings := d.Knobs.Settings()
	now := d.Clock.Now()
	due := d.since.of(began, now).Add(settings.Duration(knobs.ProvisionDelay))
	if due.After(now) {
		return due.Sub(now), nil
	}
	zone, err := d.zoneFor(class, node)
	if err == nil && settings.On(knobs.ProvisionFail, subjects(node)...) {
		err = fmt.Errorf("provisioning is made to fail")
	}
	if err != nil {
		d.Recorder.Event(pvc, corev1.EventTypeWarning, "ProvisioningFailed", err.Error())
		return 0, fmt.Errorf("provisioning for claim %s: %w", key, err)
	}
	size := pvc.Spec.Resources.Requests[corev1.ResourceStorage]
	handle, err := d.Books.Create(ctx, string(pvc.UID), zone, size.Value())
	if err != nil {
		return 0, fmt.Errorf("provisioning for claim %s: %w", key, err)
	}
	_, err = d.Client.CoreV1().PersistentVolumes().Create(ctx, d.newVolume(pvc, class, zone, handle), metav1.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		return 0, fmt.Errorf("creating volume for claim %s: %w", key, err)
	}
	return 0, nil
}

// wanted says whether the claim waits for this driver to make a volume now.
func (d *Driver) wanted(pvc *corev1.PersistentVolumeClaim) (*storagev1.StorageClass, bool) {
	if pvc.Spec.VolumeName != "" || pvc.DeletionTimestamp != nil || pvc.Annotations[annProvisioner] != d.Name || pvc.Spec.StorageClassName == nil {
		return nil, false
	}
	class, err := d.classLister.Get(*pvc.Spec.StorageClassName)
	if err != nil {
		return nil, false // the controller set the annotation after it saw the class
	}
	late := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	return class, !late || pvc.Annotations[annSelectedNode] != ""
}

// selectedNode is the node that the scheduler chose, nil if it did not. The
// error says that the node is gone.
func (d *Driver) selectedNode(pvc *corev1.PersistentVolumeClaim) (*corev1.Node, error) {
	name := pvc.Annotations[annSelectedNode]
	if name == "" {
		return nil, nil
	}
	return d.nodeLister.Get(name)
}

// giveBack returns a claim to the scheduler, which has to choose another node.
func (d *Driver) giveBack(ctx context.Context, pvc *corev1.PersistentVolumeClaim) error {
	update := pvc.DeepCopy()
	delete(update.Annotations, annSelectedNode)
	_, err := d.Client.CoreV1().PersistentVolumeClaims(pvc.Namespace).Update(ctx, update, metav1.UpdateOptions{})
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("returning claim %s/%s to the scheduler: %w", pvc.Namespace, pvc.Name, err)
	}
	return nil
}

// zoneFor is the zone of a new volume: that of the selected node, which the
// class must allow; without a node, the first that the class allows or, if it
// allows all, the first that any node is in. Nodes without zones make volumes
// that can be attached anywhere.
func (d *Driver) zoneFor(class *storagev1.StorageClass, node *corev1.Node) (string, error) {
	allowed := d.allowedZones(class)
	if node != nil {
		zone := node.Labels[corev1.LabelTopologyZone]
		if len(allowed) > 0 && !slices.Contains(allowed, zone) {
			return "", fmt.Errorf("class %s does not allow zone %q of node %s", class.Name, zone, node.Name)
		}
		return zone, nil
	}
	if len(allowed) == 0 {
		each(d.nodeLister.List, func(n *corev1.Node) {
			if zone := n.Labels[corev1.LabelTopologyZone]; zone != "" {
				allowed = append(allowed, zone)
			}
		})
	}
	if len(allowed) == 0 {
		return "", nil
	}
	return slices.Min(allowed), nil
}

func (d *Driver) allowedZones(class *storagev1.StorageClass) []string {
	var zones []string
	for _, term := range class.AllowedTopologies {
		for _, e := range term.MatchLabelExpressions {
			if e.Key == corev1.LabelTopologyZone || e.Key == d.zoneKey() {
				zones = append(zones, e.Values...)
			}
		}
	}
	return zones
}

func (d *Driver) newVolume(pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, zone, handle string) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(pvc.UID),
			Annotations: map[string]string{annProvisionedBy: d.Name},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:         corev1.ResourceList{corev1.ResourceStorage: pvc.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:      pvc.Spec.AccessModes,
			VolumeMode:       pvc.Spec.VolumeMode,
			StorageClassName: class.Name,
			MountOptions:     class.MountOptions,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: pvc.Namespace, Name: pvc.Name, UID: pvc.UID, ResourceVersion: pvc.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: d.Name, VolumeHandle: handle},
			},
		},
	}
	if class.ReclaimPolicy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if zone != "" {
		pv.Spec.NodeAffinity = inZone(zone)
	}
	return pv
}

func inZone(zone string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
			}},
		}},
	}}
}

// subjects is the node as the subject of a knob, if there is one.
func subjects(node *corev1.Node) []knobs.Subject {
	if node == nil {
		return nil
	}
	return []knobs.Subject{knobs.OfNode(node)}
}
