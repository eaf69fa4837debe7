package csi

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reclaim deletes one volume that was released and is not attached any more.
// Attachments that end make their volume due again.
func (d *Driver) reclaim(ctx context.Context, name string) (time.Duration, error) {
	pv, err := d.volumeLister.Get(name)
	if errors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	ours := pv.Annotations[annProvisionedBy] == d.Name &&
		pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	if !ours || pv.Status.Phase != corev1.VolumeReleased || pv.DeletionTimestamp != nil || d.isAttached(name) || d.keptInCloud(name) {
		return 0, nil
	}
	if pv.Spec.CSI != nil {
		if err := d.Books.Delete(ctx, pv.Spec.CSI.VolumeHandle); err != nil {
			return 0, fmt.Errorf("deleting volume %s: %w", name, err)
		}
	}
	err = d.Client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &pv.UID},
	})
	if err != nil && !errors.IsNotFound(err) {
		return 0, fmt.Errorf("deleting volume %s: %w", name, err)
	}
	return 0, nil
}

func (d *Driver) isAttached(volume string) bool {
	found := false
	each(d.attachmentLister.List, func(a *storagev1.VolumeAttachment) {
		found = found || volumeOf(a) == volume
	})
	return found
}
