package offer

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// Amounts are quantities of resources in thousandths of their unit; what is
// missing is zero.
type Amounts map[corev1.ResourceName]int64

func amounts(list corev1.ResourceList) Amounts {
	out := make(Amounts, len(list))
	for name, q := range list {
		out[name] = q.MilliValue()
	}
	return out
}

// Requests are what a pod takes from a node, itself as one of "pods" included.
func Requests(pod *corev1.Pod) Amounts {
	out := amounts(resource.PodRequests(pod, resource.PodResourcesOptions{}))
	out[corev1.ResourcePods] = 1000
	return out
}

// Add adds o to a.
func (a Amounts) Add(o Amounts) {
	for name, v := range o {
		a[name] += v
	}
}

// Subtract takes o from a.
func (a Amounts) Subtract(o Amounts) {
	for name, v := range o {
		a[name] -= v
	}
}

// Exceeds names the first resource, in order of name, of which a has more than
// there is room for.
func (a Amounts) Exceeds(room Amounts) (corev1.ResourceName, bool) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] > room[name] && a[name] > 0 {
			return name, true
		}
	}
	return "", false
}
