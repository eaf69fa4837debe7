package csi

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// State is how a volume is attached in the cloud's own books.
type State string

// States of a volume; one that is detached has the empty one.
const (
	Detached State = ""
	Attached State = "attached"
	// Busy is a volume that was to be detached and is not.
	Busy State = "busy"
)

// Books are those of a cloud. They are safe for concurrent use.
type Books interface {
	// Create makes a volume of so many bytes in a zone, and returns the cloud's name for
	// it. The same token makes it once.
	Create(ctx context.Context, token, zone string, bytes int64) (handle string, err error)
	// Delete deletes a volume that is attached nowhere; one that is gone is no error.
	Delete(ctx context.Context, handle string) error
	// Machine names the machine of a Node; empty if the cloud has no such machine.
	Machine(node *corev1.Node) string
	// Set enters how a volume is attached to a machine. A machine that is gone has nothing
	// attached, whatever is entered.
	Set(ctx context.Context, machine, handle string, s State) error
}

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

// enter writes into the cloud's books that a volume is attached. Only machines of the
// cloud have books.
func (d *Driver) enter(ctx context.Context, va *storagev1.VolumeAttachment) error {
	node, err := d.nodeLister.Get(va.Spec.NodeName)
	if err != nil {
		return ignoreGone(err)
	}
	pv, err := d.volumeLister.Get(volumeOf(va))
	if err != nil {
		return err
	}
	machine := d.Books.Machine(node)
	if machine == "" || pv.Spec.CSI == nil {
		return nil
	}
	e := entry{machine, pv.Spec.CSI.VolumeHandle}
	if err := d.Books.Set(ctx, e.machine, e.handle, Attached); err != nil {
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
	if err := d.Books.Set(ctx, e.machine, e.handle, Busy); err != nil {
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
	if err := d.Books.Set(ctx, e.machine, e.handle, Detached); err != nil {
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
