package volumes

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Attached counts the volumes that a node's pods use, by CSI driver, each volume
// once however many pods share it.
func Attached(pods []*snapshot.Pod, v *snapshot.Volumes) map[string]int64 {
	var out map[string]int64
	seen := map[types.NamespacedName]bool{}
	for _, p := range pods {
		if p.Terminal() {
			continue
		}
		for _, c := range p.Class.VolumeClaims {
			name := types.NamespacedName{Namespace: p.Namespace, Name: c.Name}
			if seen[name] {
				continue
			}
			seen[name] = true
			if _, driver, reason := resolve(name, c.Template, v); reason == nil && driver != "" {
				if out == nil {
					out = map[string]int64{}
				}
				out[driver]++
			}
		}
	}
	return out
}

// Limits are the numbers of volumes that a node takes, by CSI driver, as its
// CSINode says; a driver that is missing has no known limit.
func Limits(node string, v *snapshot.Volumes) map[string]int64 {
	csi := v.CSINodes[node]
	if csi == nil {
		return nil
	}
	out := map[string]int64{}
	for _, d := range csi.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			out[d.Name] = int64(*d.Allocatable.Count)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
