package csi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// register keeps the driver's entry in the CSINode of one node. A node has a
// CSINode, possibly without drivers, as soon as its kubelet speaks.
func (d *Driver) register(ctx context.Context, name string) (time.Duration, error) {
	node, err := d.nodeLister.Get(name)
	if errors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	settings := d.Knobs.Settings()
	if settings.On(knobs.KubeletSilent, knobs.OfNode(node)) {
		return 0, nil
	}
	registered, wait := d.registered(node, settings)
	want := storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{}}
	if registered {
		if err := d.labelZone(ctx, node); err != nil {
			return 0, err
		}
		want.Drivers = append(want.Drivers, d.entry(node, settings))
	}
	if there, err := d.writeCSINode(ctx, node, want); err != nil || !there || !registered {
		return wait, err
	}
	return wait, d.untaint(ctx, node)
}

// untaint takes the driver's startup taint off a node on which it is registered.
func (d *Driver) untaint(ctx context.Context, node *corev1.Node) error {
	taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.Key == d.Name+"/agent-not-ready" })
	if len(taints) == len(node.Spec.Taints) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": taints},
	})
	if err != nil {
		return fmt.Errorf("encoding taints: %w", err)
	}
	_, err = d.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("untainting node %s: %w", node.Name, err)
	}
	return nil
}

// uninitialized is the taint of a node until the cloud controller manager has been there.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// zoneComes says whether a node's zone is not known yet.
func zoneComes(node *corev1.Node) bool {
	return node.Labels[corev1.LabelTopologyZone] == "" && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized })
}

// registered says whether the driver is registered on the node by now, and if
// only time is missing, how much. The keys of its topology cannot be changed later.
func (d *Driver) registered(node *corev1.Node, settings knobs.Settings) (bool, time.Duration) {
	key := "register/" + string(node.UID)
	if zoneComes(node) || !d.Plugins.Present(d.Name, node.Name) {
		d.since.forget(key)
		return false, 0
	}
	now := d.Clock.Now()
	due := d.since.of(key, now).Add(settings.Duration(knobs.CSIRegisterDelay, knobs.OfNode(node)))
	return !due.After(now), max(0, due.Sub(now))
}

func (d *Driver) entry(node *corev1.Node, settings knobs.Settings) storagev1.CSINodeDriver {
	limit := settings.Count(knobs.CSIAttachLimit, knobs.OfNode(node))
	e := storagev1.CSINodeDriver{
		Name:        d.Name,
		NodeID:      node.Name,
		Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
	}
	if node.Labels[corev1.LabelTopologyZone] != "" {
		e.TopologyKeys = []string{corev1.LabelTopologyZone, d.zoneKey()}
	}
	return e
}

// zoneKey is the driver's own name for the zone, next to the well-known one.
func (d *Driver) zoneKey() string { return "topology." + d.Name + "/zone" }

// labelZone repeats the node's zone under the driver's own key, as a kubelet
// does with the topology that a driver reports.
func (d *Driver) labelZone(ctx context.Context, node *corev1.Node) error {
	zone := node.Labels[corev1.LabelTopologyZone]
	if zone == "" || node.Labels[d.zoneKey()] == zone {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": map[string]string{d.zoneKey(): zone}},
	})
	if err != nil {
		return fmt.Errorf("encoding label: %w", err)
	}
	client, err := d.Nodes(node.Name)
	if err != nil {
		return err
	}
	_, err = client.Core.Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("labelling node %s: %w", node.Name, err)
	}
	return nil
}

// writeCSINode makes the CSINode of a node as wanted, as far as this driver is
// concerned, and reports whether it is. One that belongs to an earlier node of the same
// name goes first; its events bring the driver back.
func (d *Driver) writeCSINode(ctx context.Context, node *corev1.Node, want storagev1.CSINodeSpec) (there bool, err error) {
	kubelet, err := d.Nodes(node.Name)
	if err != nil {
		return false, err
	}
	client := kubelet.Storage.CSINodes()
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	have, err := d.csiNodeLister.Get(node.Name)
	if errors.IsNotFound(err) {
		_, err = client.Create(ctx, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{owner}},
			Spec:       want,
		}, metav1.CreateOptions{})
		if errors.IsAlreadyExists(err) {
			return false, nil // its event is on the way
		}
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	if !slices.Contains(have.OwnerReferences, owner) {
		err := client.Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID}})
		if errors.IsNotFound(err) {
			return false, nil
		}
		return false, err
	}
	update := have.DeepCopy()
	update.Spec.Drivers = slices.DeleteFunc(update.Spec.Drivers, func(e storagev1.CSINodeDriver) bool { return e.Name == d.Name })
	update.Spec.Drivers = append(update.Spec.Drivers, want.Drivers...)
	if equality.Semantic.DeepEqual(have.Spec, update.Spec) {
		return true, nil
	}
	_, err = client.Update(ctx, update, metav1.UpdateOptions{})
	return err == nil, err
}
