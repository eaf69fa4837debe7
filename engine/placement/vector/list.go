package vector

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Sum adds more to a list, as a new one.
func Sum(list corev1.ResourceList, more snapshot.Amounts) corev1.ResourceList {
	out := maps.Clone(list)
	more.AddTo(out)
	return out
}

// Less takes something from a list, as a new one that is nowhere below zero. What
// the list lacks it has none of.
func Less(list corev1.ResourceList, what snapshot.Amounts) corev1.ResourceList {
	out := maps.Clone(list)
	for _, a := range what {
		left, ok := out[a.Name]
		if !ok {
			continue
		}
		left.Sub(a.Quantity)
		if left.Sign() < 0 {
			left.Set(0)
		}
		out[a.Name] = left
	}
	return out
}
