package csi

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// attachment carries out one VolumeAttachment.
func (d *Driver) attachment(ctx context.Context, name string) (time.Duration, error) {
	va, err := d.attachmentLister.Get(name)
	if errors.IsNotFound(err) {
		d.ended(name)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if va.Spec.Attacher != d.Name {
		return 0, nil
	}
	if va.DeletionTimestamp != nil {
		return d.detach(ctx, va)
	}
	return d.attach(ctx, va)
}

// ended frees what a vanished attachment held and lets those go on that wait.
func (d *Driver) ended(name string) {
	for _, phase := range []action{attaching, detaching} {
		d.since.forget(phase.key(name))
	}
	d.freed(name)
}

// freed lets those go on that wait for what a holder held.
func (d *Driver) freed(holder string) {
	for _, volume := range d.held.release(holder) {
		d.volumes.Add(volume)
		d.wakeAttachments(func(a *storagev1.VolumeAttachment) bool { return volumeOf(a) == volume })
	}
}

// action is attaching or detaching: the same steps under different knobs.
type action struct {
	name              string
	delay, fail, hang knobs.Knob
}

var (
	attaching = action{"attach", knobs.AttachDelay, knobs.AttachFail, knobs.AttachHang}
	detaching = action{"detach", knobs.DetachDelay, knobs.DetachFail, knobs.DetachHang}
)

func (a action) key(attachment string) string { return a.name + "/" + attachment }

// progress is how an action stands.
type progress struct {
	done bool
	wait time.Duration // until the next look; zero if only events matter
	err  error         // of the driver, for the status of the attachment
}

// proceed says how far an action of an attachment has come by now.
func (d *Driver) proceed(a action, va *storagev1.VolumeAttachment) progress {
	s := d.Knobs.Settings()
	who := d.concerned(va)
	now := d.Clock.Now()
	due := d.since.of(a.key(va.Name), now).Add(s.Duration(a.delay, who...))
	switch {
	case s.On(a.hang, who...):
		return progress{}
	case due.After(now):
		return progress{wait: due.Sub(now)}
	case s.On(a.fail, who...):
		return progress{err: fmt.Errorf("%s is made to fail", a.name)}
	}
	return progress{done: true}
}

// concerned lists whose knobs apply to an attachment. Volume and node may be
// gone while it is still being detached; then their names are what is left.
func (d *Driver) concerned(va *storagev1.VolumeAttachment) []knobs.Subject {
	volume, node := knobs.OfVolumeName(volumeOf(va)), knobs.OfNodeName(va.Spec.NodeName)
	if pv, err := d.volumeLister.Get(volumeOf(va)); err == nil {
		volume = knobs.OfVolume(pv)
	}
	if n, err := d.nodeLister.Get(va.Spec.NodeName); err == nil {
		node = knobs.OfNode(n)
	}
	return []knobs.Subject{volume, node}
}

func (d *Driver) attach(ctx context.Context, va *storagev1.VolumeAttachment) (time.Duration, error) {
	client := d.Client.StorageV1().VolumeAttachments()
	if !slices.Contains(va.Finalizers, d.finalizer()) {
		update := va.DeepCopy()
		update.Finalizers = append(update.Finalizers, d.finalizer())
		_, err := client.Update(ctx, update, metav1.UpdateOptions{})
		return 0, ignoreGone(err)
	}
	if err := d.claim(va); err != nil {
		return 0, d.report(ctx, va, err, setAttachError)
	}
	if va.Status.Attached {
		return 0, nil
	}
	p := d.proceed(attaching, va)
	if p.err != nil {
		return 0, d.report(ctx, va, p.err, setAttachError)
	}
	if !p.done {
		return p.wait, nil
	}
	if err := d.enter(ctx, va); err != nil {
		return 0, err
	}
	update := va.DeepCopy()
	update.Status.Attached, update.Status.AttachError = true, nil
	_, err := client.UpdateStatus(ctx, update, metav1.UpdateOptions{})
	return 0, ignoreGone(err)
}

func (d *Driver) detach(ctx context.Context, va *storagev1.VolumeAttachment) (time.Duration, error) {
	if !slices.Contains(va.Finalizers, d.finalizer()) {
		return 0, nil // another controller holds it
	}
	p := d.proceed(detaching, va)
	if p.err != nil {
		return 0, d.report(ctx, va, p.err, setDetachError)
	}
	if !p.done {
		return p.wait, nil
	}
	if err := d.leave(ctx, va); err != nil {
		return 0, err
	}
	update := va.DeepCopy()
	update.Finalizers = slices.DeleteFunc(update.Finalizers, func(f string) bool { return f == d.finalizer() })
	_, err := d.Client.StorageV1().VolumeAttachments().Update(ctx, update, metav1.UpdateOptions{})
	return 0, ignoreGone(err)
}

// claim takes the volume for the attachment. A volume of several writers or
// readers needs no claim.
func (d *Driver) claim(va *storagev1.VolumeAttachment) error {
	volume := volumeOf(va)
	pv, err := d.volumeLister.Get(volume)
	if err != nil {
		return err
	}
	shared := func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	}
	if slices.ContainsFunc(pv.Spec.AccessModes, shared) {
		return nil
	}
	// What was attached before this process began is not in the ledger yet.
	each(d.attachmentLister.List, func(a *storagev1.VolumeAttachment) {
		if a.Status.Attached && (volumeOf(a) == volume || a.Spec.NodeName == va.Spec.NodeName) {
			d.held.take(volumeOf(a), a.Name, a.Spec.NodeName, math.MaxInt)
		}
	})
	limit := math.MaxInt
	if node, err := d.nodeLister.Get(va.Spec.NodeName); err == nil {
		limit = int(d.Knobs.Settings().Count(knobs.CSIAttachLimit, knobs.OfNode(node)))
	}
	switch holder := d.held.take(volume, va.Name, va.Spec.NodeName, limit); holder {
	case va.Name:
		return nil
	case "":
		return fmt.Errorf("AttachmentLimitExceeded: node %s has the %d volumes that it can have", va.Spec.NodeName, limit)
	default:
		return fmt.Errorf("volume %s is already attached or being attached to another node by %s", volume, holder)
	}
}

// report writes a driver's error to the attachment's status, once for each
// wording, and returns it for a retry.
func (d *Driver) report(ctx context.Context, va *storagev1.VolumeAttachment, cause error, set func(*storagev1.VolumeAttachmentStatus, *storagev1.VolumeError) bool) error {
	update := va.DeepCopy()
	changed := set(&update.Status, &storagev1.VolumeError{
		Time:    metav1.Time{Time: d.Clock.Now()},
		Message: cause.Error(),
	})
	if changed {
		_, err := d.Client.StorageV1().VolumeAttachments().UpdateStatus(ctx, update, metav1.UpdateOptions{})
		if ignoreGone(err) != nil {
			return err
		}
	}
	return fmt.Errorf("volume %s on node %s: %w", volumeOf(va), va.Spec.NodeName, cause)
}

func setAttachError(s *storagev1.VolumeAttachmentStatus, e *storagev1.VolumeError) bool {
	changed := s.AttachError == nil || s.AttachError.Message != e.Message
	s.AttachError = e
	return changed
}

func setDetachError(s *storagev1.VolumeAttachmentStatus, e *storagev1.VolumeError) bool {
	changed := s.DetachError == nil || s.DetachError.Message != e.Message
	s.DetachError = e
	return changed
}

// finalizer is what keeps an attachment until it is detached.
func (d *Driver) finalizer() string {
	return "external-attacher/" + strings.ReplaceAll(d.Name, ".", "-")
}

func volumeOf(va *storagev1.VolumeAttachment) string {
	if va.Spec.Source.PersistentVolumeName == nil {
		return ""
	}
	return *va.Spec.Source.PersistentVolumeName
}

func ignoreGone(err error) error {
	if errors.IsNotFound(err) {
		return nil
	}
	return err
}
