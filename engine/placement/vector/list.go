package vector

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Sum adds two lists up, as a new one.
func Sum(a, b corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(a)
	for name, q := range b {
		total := out[name]
		total.Add(q)
		out[name] = total
	}
	return out
}

// Less takes one list from another, as a new one that is nowhere below zero. What
// the first lacks it has none of.
func Less(from, what corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(from)
	for name, q := range what {
		left, ok := out[name]
		if !ok {
			continue
		}
		left.Sub(q)
		if left.Sign() < 0 {
			left.Set(0)
		}
		out[name] = left
	}
	return out
}
