package demand

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// attachPrefix marks the dimensions that count volumes, sharePrefix those that say
// whether a node has room for the volumes that pods share.
const (
	attachPrefix = "volumes of "
	sharePrefix  = "shared volumes of "
)

// VolumesOf takes the name of a dimension that is about volumes apart: those that are a
// pod's own, which it counts, or those that pods share.
func VolumesOf(name corev1.ResourceName) (driver string, own, ok bool) {
	if driver, own = strings.CutPrefix(string(name), attachPrefix); own {
		return driver, true, true
	}
	driver, ok = strings.CutPrefix(string(name), sharePrefix)
	return driver, false, ok
}

// OfVolumes reports whether a dimension is about volumes.
func OfVolumes(name corev1.ResourceName) bool {
	_, _, ok := VolumesOf(name)
	return ok
}

// readVolumes looks at the volumes of the pods, if there are any.
func (b *Batch) readVolumes(classes []*snapshot.Class, members [][]*snapshot.Pod) {
	var uses []volumes.Use
	for i, c := range classes {
		if len(c.VolumeClaims)+len(c.Disks) > 0 {
			uses = append(uses, volumes.Use{Shape: c.Shape, Pods: len(members[i])})
		}
	}
	if len(uses) > 0 {
		b.Volumes, b.storage = volumes.NewBook(b.Snap, uses), map[*snapshot.Shape]volumes.Demand{}
	}
}

// ofVolumes lists what a shape's volumes need, by dimension.
func (b *Batch) ofVolumes(from *snapshot.Shape, add func(corev1.ResourceName, int64)) {
	wanted := b.storage[from]
	for driver, n := range wanted.Attach {
		add(corev1.ResourceName(attachPrefix+driver), n)
	}
	for _, driver := range wanted.Shares {
		add(corev1.ResourceName(sharePrefix+driver), 1)
	}
}

// contenders sorts out the pods that have to wait for another one's volume.
func contenders(book *volumes.Book, classes []*snapshot.Class, members [][]*snapshot.Pod) map[*snapshot.Pod]plan.Reason {
	if book == nil {
		return nil
	}
	var pods []*snapshot.Pod
	for i, c := range classes {
		if book.Exclusive(c.Shape) {
			pods = append(pods, members[i]...)
		}
	}
	slices.SortFunc(pods, byRank)
	return book.Contenders(pods)
}

// Refuse is a shape that no node will do for, for a reason of its own.
func (b *Batch) Refuse(sh *Shape, why plan.Reason) *Shape {
	out := *sh
	out.Refused = append(slices.Clip(out.Refused), why)
	return b.Intern(&out)
}
