package volumes

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Drivers are the CSI drivers that attach the volumes of pods, by name. What makes
// volumes for a storage class counts as one until its volume is there, though it
// need not be.
func Drivers(pods []*snapshot.Pod, v snapshot.Volumes) []string {
	b := &Book{s: &snapshot.Snapshot{Volumes: v}}
	var out []string
	for _, p := range pods {
		if p.Terminal() {
			continue
		}
		for _, x := range b.volumesOf(p.Class.Shape) {
			out = append(out, x.driver)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
