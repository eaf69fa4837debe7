package snapshot

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Amounts are resources with how much of each, each named once, in the order of
// their names. There is one for each class: a ResourceList, which is a map, takes
// several times the memory and the time.
type Amounts []Amount

// Amount is how much of a resource.
type Amount struct {
	Name     corev1.ResourceName
	Quantity resource.Quantity
}

// AmountsOf are those of a list.
func AmountsOf(list corev1.ResourceList) Amounts {
	return amountsOf(list, 0)
}

// amountsOf are those of a list, with room for more.
func amountsOf(list corev1.ResourceList, more int) Amounts {
	out := make(Amounts, 0, len(list)+more)
	for _, name := range usualResources() {
		if q, ok := list[name]; ok {
			out = append(out, Amount{name, q})
		}
	}
	if len(out) == len(list) {
		return out
	}
	out = out[:0]
	for name, q := range list {
		out = append(out, Amount{name, q})
	}
	slices.SortFunc(out, func(a, b Amount) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// with has so much of a resource, whatever was said of it before. It may change the
// list.
func (a Amounts) with(name corev1.ResourceName, q resource.Quantity) Amounts {
	at, found := a.find(name)
	if found {
		a[at].Quantity = q
		return a
	}
	return slices.Insert(a, at, Amount{name, q})
}

// Get is how much there is of a resource, zero if it is not named.
func (a Amounts) Get(name corev1.ResourceName) resource.Quantity {
	if at, found := a.find(name); found {
		return a[at].Quantity
	}
	return resource.Quantity{}
}

// AddTo adds the amounts to a list.
func (a Amounts) AddTo(sum corev1.ResourceList) {
	for i := range a {
		total := sum[a[i].Name]
		total.Add(a[i].Quantity)
		sum[a[i].Name] = total
	}
}

func (a Amounts) find(name corev1.ResourceName) (at int, found bool) {
	return slices.BinarySearchFunc(a, name, func(x Amount, name corev1.ResourceName) int { return strings.Compare(string(x.Name), string(name)) })
}

// usualResources are those that nearly all pods ask for, and most ask for no others,
// in order: to look them up is cheaper than to go through a map.
func usualResources() [3]corev1.ResourceName {
	return [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceEphemeralStorage, corev1.ResourceMemory}
}
