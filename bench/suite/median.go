package suite

import (
	"cmp"
	"slices"
)

// median is the middle value, the lower one of two.
func median[T any, V cmp.Ordered](list []T, of func(T) V) V {
	values := make([]V, len(list))
	for i, e := range list {
		values[i] = of(e)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
