package demand

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// byRank puts pods of a higher priority first, and then the first by name.
func byRank(a, b *snapshot.Pod) int {
	return cmp.Or(cmp.Compare(b.Class.Priority, a.Class.Priority), snapshot.ComparePods(a, b))
}

// Order puts groups and shapes in an order that depends on what they are.
func (b *Batch) Order() {
	list := make([]ordered, len(b.Groups))
	for i, g := range b.Groups {
		list[i] = ordered{g.Shape, g.Need[0], g}
	}
	slices.SortFunc(list, compareGroups)
	for i := range list {
		b.Groups[i] = list[i].group
	}
	b.Shapes = nil
	for _, g := range b.Groups {
		if len(b.Shapes) == 0 || b.Shapes[len(b.Shapes)-1] != g.Shape {
			b.Shapes = append(b.Shapes, g.Shape)
		}
	}
}

// ordered is a group with what most often tells it from others: its shape, and how
// much it needs of the first dimension.
type ordered struct {
	shape *Shape
	need  int64
	group *Group
}

func compareGroups(a, b ordered) int {
	if a.shape != b.shape {
		if c := cmp.Compare(a.shape.Key, b.shape.Key); c != 0 {
			return c
		}
	}
	switch {
	case a.need > b.need:
		return -1
	case a.need < b.need:
		return 1
	}
	return cmp.Or(slices.Compare(b.group.Need, a.group.Need), cmp.Compare(b.group.Bundle, a.group.Bundle))
}

// SortPods puts pods in the order of namespace and name.
func SortPods(pods []*snapshot.Pod) {
	slices.SortFunc(pods, byNamespace)
	list := make([]named, len(pods))
	for lo := 0; lo < len(pods); {
		hi := lo + 1
		for hi < len(pods) && pods[hi].Namespace == pods[lo].Namespace {
			hi++
		}
		sortByName(pods[lo:hi], list[:hi-lo])
		lo = hi
	}
}

func byNamespace(a, b *snapshot.Pod) int {
	if a.Namespace == b.Namespace {
		return 0
	}
	return strings.Compare(a.Namespace, b.Namespace)
}

// named is a pod with the part of its name that most often tells it from others,
// as a number in the same order: the first bytes after what all names begin with.
type named struct {
	part uint64
	name string
	pod  *snapshot.Pod
}

// sortByName puts pods of one namespace in order, list being room for as many. Names
// are fetched once, as they are far apart in memory.
func sortByName(pods []*snapshot.Pod, list []named) {
	shared := pods[0].Name
	for i, p := range pods {
		list[i] = named{name: p.Name, pod: p}
		n := 0
		for n < len(shared) && n < len(p.Name) && shared[n] == p.Name[n] {
			n++
		}
		shared = shared[:n]
	}
	for i := range list {
		var part [8]byte
		copy(part[:], list[i].name[len(shared):])
		list[i].part = binary.BigEndian.Uint64(part[:])
	}
	slices.SortFunc(list, func(a, b named) int {
		switch {
		case a.part < b.part:
			return -1
		case a.part > b.part:
			return 1
		}
		return snapshot.ComparePods(a.pod, b.pod)
	})
	for i := range list {
		pods[i] = list[i].pod
	}
}

// byShape puts shapes that say most first.
func byShape(a, b *snapshot.Shape) int {
	return cmp.Or(cmp.Compare(len(b.ShapeKey), len(a.ShapeKey)), strings.Compare(b.ShapeKey, a.ShapeKey))
}
