package interruption

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Locate makes of an event about a volume one for each machine that it is attached to; others
// stay as they are. It is empty for a volume that is attached nowhere, or is none of the
// cluster's.
func Locate(s *snapshot.Snapshot, e Event) []Event {
	if e.Volume == "" || e.Machine != "" {
		return []Event{e}
	}
	var out []Event
	for _, n := range s.Nodes {
		if n.Object == nil {
			continue
		}
		for _, a := range s.Volumes.Attachments[n.Object.Name] {
			name := a.Spec.Source.PersistentVolumeName
			if name == nil || !is(s.Volumes.Volumes[*name], e.Volume) || providerID(n) == "" {
				continue
			}
			e.Machine, e.PersistentVolume = providerID(n), *name
			out = append(out, e)
			break
		}
	}
	return out
}

// is reports whether a PersistentVolume is the cloud's volume of a name.
func is(pv *corev1.PersistentVolume, volume string) bool {
	switch {
	case pv == nil:
		return false
	case pv.Spec.CSI != nil:
		return pv.Spec.CSI.VolumeHandle == volume
	case pv.Spec.AWSElasticBlockStore != nil:
		id := pv.Spec.AWSElasticBlockStore.VolumeID // aws://ZONE/ID, or the ID
		return id[strings.LastIndexByte(id, '/')+1:] == volume
	}
	return false
}
