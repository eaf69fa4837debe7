package attachment_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/attachment"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// one is a cluster with one attachment: volume pv of claim default/data to node n,
// attached an hour ago.
func one(change func(*storagev1.VolumeAttachment, *snapshot.Snapshot)) *snapshot.Snapshot {
	pv := "pv"
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-1", CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	a.Spec.NodeName, a.Spec.Attacher, a.Spec.Source.PersistentVolumeName = "n", "ebs.csi.aws.com", &pv
	a.Status.Attached = true
	s := &snapshot.Snapshot{
		Now:   noon,
		Nodes: []*snapshot.Node{{Name: "n", Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}},
		Volumes: snapshot.Volumes{
			Volumes:     map[string]*corev1.PersistentVolume{"pv": {Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "data"}}}},
			CSINodes:    map[string]*storagev1.CSINode{"n": {Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com"}}}}},
			Attachments: map[string][]*storagev1.VolumeAttachment{"n": {a}},
		},
	}
	if change != nil {
		change(a, s)
	}
	return s
}

func deleted(ago time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(-ago)} }

func TestFaultsOfAnAttachment(t *testing.T) {
	const full = "volumeattachment/csi-1 (node/n, persistentvolume/pv, persistentvolumeclaim/data -n default)"
	for name, test := range map[string]struct {
		change func(*storagev1.VolumeAttachment, *snapshot.Snapshot)
		want   string
	}{
		"attached": {nil, ""},
		"being attached": {func(a *storagev1.VolumeAttachment, _ *snapshot.Snapshot) {
			a.Status.Attached, a.CreationTimestamp = false, metav1.NewTime(noon.Add(-time.Minute))
		}, ""},
		"not attached in time": {func(a *storagev1.VolumeAttachment, _ *snapshot.Snapshot) {
			a.Status.Attached, a.Status.AttachError = false, &storagev1.VolumeError{Message: "in use elsewhere"}
		}, full + " has not been attached in time (in use elsewhere)"},
		"being detached": {func(a *storagev1.VolumeAttachment, _ *snapshot.Snapshot) { a.DeletionTimestamp = deleted(time.Minute) }, ""},
		"not detached in time": {func(a *storagev1.VolumeAttachment, _ *snapshot.Snapshot) {
			a.DeletionTimestamp = deleted(2 * time.Minute)
		},
			full + " has not been detached in time"},
		"node gone": {func(_ *storagev1.VolumeAttachment, s *snapshot.Snapshot) { s.Nodes = nil },
			full + " is left over from a node that is gone"},
		"node gone, just being detached": {func(a *storagev1.VolumeAttachment, s *snapshot.Snapshot) {
			s.Nodes, a.DeletionTimestamp = nil, deleted(time.Minute)
		}, ""},
		"volume gone": {func(_ *storagev1.VolumeAttachment, s *snapshot.Snapshot) { s.Volumes.Volumes = nil },
			"volumeattachment/csi-1 (node/n, persistentvolume/pv) belongs to a volume that does not exist"},
		"driver gone": {func(_ *storagev1.VolumeAttachment, s *snapshot.Snapshot) { s.Volumes.CSINodes = nil },
			full + " belongs to driver ebs.csi.aws.com, which runs on no node"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, f := range attachment.Faults(one(test.change)) {
				if f.Remedy() == "" {
					t.Error("nothing is said about what to do")
				}
				got += f.Message()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestOnlyOrphansThatHaveBeenSeenForLongEnoughAreAbandoned(t *testing.T) {
	orphan := attachment.Faults(one(func(_ *storagev1.VolumeAttachment, s *snapshot.Snapshot) { s.Nodes = nil }))
	other := attachment.Faults(one(func(_ *storagev1.VolumeAttachment, s *snapshot.Snapshot) { s.Volumes.Volumes = nil }))
	seen := map[string]time.Time{"csi-1": noon.Add(-10 * time.Minute)}
	got := fmt.Sprint(
		len(attachment.Abandoned(orphan, seen, noon.Add(-6*time.Minute))),
		len(attachment.Abandoned(orphan, nil, noon.Add(-6*time.Minute))),
		len(attachment.Abandoned(orphan, seen, noon.Add(-11*time.Minute))),
		len(attachment.Abandoned(other, seen, noon.Add(-6*time.Minute))),
	)
	if got != "1 0 0 0" {
		t.Errorf("got %s", got)
	}
}

func TestOrphansAreDeletedOnlyWhereAPolicyAsksForIt(t *testing.T) {
	s := one(func(_ *storagev1.VolumeAttachment, s *snapshot.Snapshot) { s.Nodes = nil })
	faults := attachment.Faults(s)
	for _, row := range []struct {
		asked bool
		age   time.Duration
		want  int
	}{{false, time.Hour, 0}, {true, 6*time.Minute - time.Second, 0}, {true, 6 * time.Minute, 1}} {
		s.Pools = []*snapshot.Pool{{Name: "a"}, {Name: "b"}}
		s.Pools[1].Policy.Termination.DeleteOrphans = row.asked
		seen := map[string]time.Time{"csi-1": s.Now.Add(-row.age)}
		if got := len(attachment.Deletable(s, faults, seen)); got != row.want {
			t.Errorf("asked %v, orphaned for %v: %d are deleted, want %d", row.asked, row.age, got, row.want)
		}
	}
}
