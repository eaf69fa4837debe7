package placement

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// dims turns amounts into vectors: one number for each resource that some pod
// asks for, in the order of their names. CPU counts in thousandths, everything
// else in units, as in the scheduler.
type dims struct {
	names []corev1.ResourceName
	index map[corev1.ResourceName]int
}

func newDims(names []corev1.ResourceName) *dims {
	slices.Sort(names)
	d := &dims{names: slices.Compact(names), index: map[corev1.ResourceName]int{}}
	for i, name := range d.names {
		d.index[name] = i
	}
	return d
}

// need rounds up; what nobody asks for is left out.
func (d *dims) need(list corev1.ResourceList) []int64 {
	out := make([]int64, len(d.names))
	for name, q := range list {
		if i, ok := d.index[name]; ok {
			out[i] = amountUp(name, q)
		}
	}
	return out
}

// have rounds down and is never negative.
func (d *dims) have(list corev1.ResourceList) []int64 {
	out := make([]int64, len(d.names))
	for i, name := range d.names {
		if q, ok := list[name]; ok {
			out[i] = max(0, amountDown(name, q))
		}
	}
	return out
}

func amountUp(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

func amountDown(name corev1.ResourceName, q resource.Quantity) int64 {
	n := amountUp(name, q)
	if q.Cmp(quantity(name, n)) < 0 {
		return n - 1
	}
	return n
}

// quantity is the amount in Kubernetes' words.
func quantity(name corev1.ResourceName, n int64) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(n, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return *resource.NewQuantity(n, resource.BinarySI)
	}
	return *resource.NewQuantity(n, resource.DecimalSI)
}

// list is a vector in Kubernetes' words, without what is zero.
func (d *dims) list(vec []int64) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i, n := range vec {
		if n != 0 {
			out[d.names[i]] = quantity(d.names[i], n)
		}
	}
	return out
}

func add(sum, vec []int64, times int64) {
	for i, n := range vec {
		sum[i] += n * times
	}
}

// fits reports whether the need is there. What is not needed does not matter,
// even where a machine is overcommitted.
func fits(need, free []int64) bool {
	for i, n := range need {
		if n > 0 && n > free[i] {
			return false
		}
	}
	return true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
