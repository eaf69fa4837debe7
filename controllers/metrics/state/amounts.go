package state

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// amounts are resources in their base units: cores, bytes, pieces.
type amounts map[corev1.ResourceName]float64

func (a amounts) add(list corev1.ResourceList) {
	for name, q := range list {
		a[name] += q.AsApproximateFloat64()
	}
}

func (a amounts) ask(what snapshot.Amounts) {
	for i := range what {
		a[what[i].Name] += what[i].Quantity.AsApproximateFloat64()
	}
}

// names are those that API objects have: what counts claimed devices has expressions in it.
func (a amounts) names() []corev1.ResourceName {
	own := func(name corev1.ResourceName) bool { return strings.HasPrefix(string(name), snapshot.DevicePrefix) }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a)), own)
}

// label is a name as Prometheus labels have it.
func label(name corev1.ResourceName) string {
	return strings.ReplaceAll(strings.ToLower(string(name)), "-", "_")
}
