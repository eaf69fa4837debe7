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

// Sort puts groups in an order that depends on what they are: those of one shape one after the
// other.
func Sort(groups []*Group) {
	slices.SortFunc(groups, func(a, b *Group) int {
		if a.Shape != b.Shape {
			if c := cmp.Compare(a.Shape.Key, b.Shape.Key); c != 0 {
				return c
			}
		}
		return cmp.Or(slices.Compare(b.Need, a.Need), cmp.Compare(b.Bundle, a.Bundle))
	})
}

// byShape puts shapes that say most first.
func byShape(a, b *snapshot.Shape) int {
	return cmp.Or(cmp.Compare(len(b.ShapeKey), len(a.ShapeKey)), strings.Compare(b.ShapeKey, a.ShapeKey))
}
