package demand

import (
	"cmp"
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
	slices.SortFunc(b.Groups, func(x, y *Group) int {
		if x.Shape != y.Shape {
			if c := cmp.Compare(x.Shape.Key, y.Shape.Key); c != 0 {
				return c
			}
		}
		if c := slices.Compare(y.Need, x.Need); c != 0 {
			return c
		}
		return cmp.Compare(y.Bundle, x.Bundle)
	})
	b.Shapes = nil
	for _, g := range b.Groups {
		if len(b.Shapes) == 0 || b.Shapes[len(b.Shapes)-1] != g.Shape {
			b.Shapes = append(b.Shapes, g.Shape)
		}
	}
}

// SortPods puts pods in the order of namespace and name. The names are fetched once,
// as they are far apart in memory.
func SortPods(pods []*snapshot.Pod) {
	type entry struct {
		namespace, name string
		pod             *snapshot.Pod
	}
	list := make([]entry, len(pods))
	for i, p := range pods {
		list[i] = entry{p.Namespace, p.Name, p}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if a.namespace == b.namespace && a.name != b.name {
			return strings.Compare(a.name, b.name)
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
