package csi

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// What the simulated cloud of cloud/kwok calls its things: the annotation of a Node
// that names the ConfigMap of its machine, and what is added to that name for the
// ConfigMap of the machine's volumes.
const (
	machineAnnotation = "millwright.dev/machine"
	volumesSuffix     = "-volumes"
)

// States of a volume in the cloud; one that is detached has none.
const (
	cloudAttached = "attached"
	cloudBusy     = "busy"
)

// cloudBooks are what the cloud has attached, whatever Kubernetes thinks of it. The
// zero value is ready and safe for concurrent use.
type cloudBooks struct {
	mu sync.Mutex
	// entries are by attachment.
	entries map[string]entry
	// kept are attachments that Kubernetes knows no more.
	kept map[string]*storagev1.VolumeAttachment
}

// entry is where the cloud's books have a volume.
type entry struct{ machine, handle string }

// enter writes into the cloud's books that a volume is attached. Only machines of
// the simulated cloud have books.
func (d *Driver) enter(ctx context.Context, va *storagev1.VolumeAttachment) error {
	node, err := d.nodeLister.Get(va.Spec.NodeName)
	if err != nil {
		return ignoreGone(err)
	}
	pv, err := d.volumeLister.Get(volumeOf(va))
	if err != nil {
		return err
	}
	if node.Annotations[machineAnnotation] == "" || pv.Spec.CSI == nil {
		return nil
	}
	e := entry{node.Annotations[machineAnnotation], pv.Spec.CSI.VolumeHandle}
	if err := d.write(ctx, e, d.Name+" "+cloudAttached); err != nil {
		return err
	}
	d.cloud.mu.Lock()
	defer d.cloud.mu.Unlock()
	if d.cloud.entries == nil {
		d.cloud.entries, d.cloud.kept = map[string]entry{}, map[string]*storagev1.VolumeAttachment{}
	}
	d.cloud.entries[va.Name] = e
	return nil
}

// leave takes a volume out of the cloud's books, or keeps it there as busy, although
// Kubernetes is told that it is detached, for as long as a knob says so.
func (d *Driver) leave(ctx context.Context, va *storagev1.VolumeAttachment) error {
	d.cloud.mu.Lock()
	e, known := d.cloud.entries[va.Name]
	d.cloud.mu.Unlock()
	if !known {
		return nil
	}
	if !d.keeps(va) {
		return d.strike(ctx, va.Name, e)
	}
	if err := d.write(ctx, e, d.Name+" "+cloudBusy); err != nil {
		return err
	}
	d.held.hand(volumeOf(va), va.Name, keptKey(va.Name))
	d.cloud.mu.Lock()
	defer d.cloud.mu.Unlock()
	d.cloud.kept[va.Name] = va
	return nil
}

func keptKey(attachment string) string { return "the cloud, since " + attachment }

func (d *Driver) keeps(va *storagev1.VolumeAttachment) bool {
	return d.Knobs.Settings().On(knobs.CloudDetachHang, d.concerned(va)...)
}

// letGo ends what leave keeps, once the knob is turned back or the machine is gone.
func (d *Driver) letGo(ctx context.Context, name string) (time.Duration, error) {
	d.cloud.mu.Lock()
	va, e := d.cloud.kept[name], d.cloud.entries[name]
	d.cloud.mu.Unlock()
	if va == nil {
		return 0, nil
	}
	_, err := d.nodeLister.Get(va.Spec.NodeName)
	if err == nil && d.keeps(va) {
		return 0, nil
	}
	if err := d.strike(ctx, name, e); err != nil {
		return 0, err
	}
	d.freed(keptKey(name))
	return 0, nil
}

// strike takes an entry out of the books.
func (d *Driver) strike(ctx context.Context, name string, e entry) error {
	if err := d.write(ctx, e, ""); err != nil {
		return err
	}
	d.cloud.mu.Lock()
	defer d.cloud.mu.Unlock()
	delete(d.cloud.entries, name)
	delete(d.cloud.kept, name)
	return nil
}

// wakeKept makes everything due that leave keeps.
func (d *Driver) wakeKept() {
	d.cloud.mu.Lock()
	defer d.cloud.mu.Unlock()
	for name := range d.cloud.kept {
		d.kept.Add(name)
	}
}

// keptInCloud says whether the cloud still has a volume attached that Kubernetes
// thinks detached.
func (d *Driver) keptInCloud(volume string) bool {
	d.cloud.mu.Lock()
	defer d.cloud.mu.Unlock()
	for _, va := range d.cloud.kept {
		if volumeOf(va) == volume {
			return true
		}
	}
	return false
}

// write puts a value into a machine's books, or takes it out if it is empty. A
// machine that is gone has none, and takes them along.
func (d *Driver) write(ctx context.Context, e entry, value string) error {
	data := map[string]*string{e.handle: &value}
	if value == "" {
		data[e.handle] = nil
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return fmt.Errorf("encoding the volumes of %s: %w", e.machine, err)
	}
	client := d.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	change := func() error {
		_, err := client.Patch(ctx, e.machine+volumesSuffix, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	if err := change(); !errors.IsNotFound(err) || value == "" {
		return ignoreGone(err)
	}
	machine, err := client.Get(ctx, e.machine, metav1.GetOptions{})
	if err != nil {
		return ignoreGone(err)
	}
	_, err = client.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:            e.machine + volumesSuffix,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: machine.Name, UID: machine.UID}},
		},
		Data: map[string]string{e.handle: value},
	}, metav1.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return change()
	}
	return err
}
