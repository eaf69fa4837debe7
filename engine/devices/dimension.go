package devices

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// dimension is a resource: the devices that one of some kinds selects, by their words.
type dimension struct {
	name  corev1.ResourceName
	kinds []string
}

// mostJoint is up to how many kinds that select common devices are counted exactly: it takes a
// resource for each set of them. Of more each counts, and all together.
const mostJoint = 5

// dimensions are the resources that count devices of some kinds. Claims can all be satisfied if
// for each set of kinds as many devices are selected by one of them as are asked for through them
// (Hall's theorem), and only kinds that select common devices have to be looked at together.
func dimensions(kinds []string, hosts []*host) []dimension {
	var out []dimension
	for _, joint := range overlapping(kinds, hosts) {
		sets := subsets(joint)
		if len(joint) > mostJoint {
			sets = [][]string{joint}
			for _, k := range joint {
				sets = append(sets, []string{k})
			}
		}
		for _, set := range sets {
			out = append(out, dimension{corev1.ResourceName(snapshot.DevicePrefix + strings.Join(set, " or ")), set})
		}
	}
	return out
}

// subsets are all sets of some kinds but the empty one.
func subsets(list []string) [][]string {
	var out [][]string
	for _, k := range list {
		for _, set := range slices.Concat(out, [][]string{nil}) {
			out = append(out, append(slices.Clone(set), k))
		}
	}
	return out
}

// overlapping divides kinds so that those which select a common device are together.
func overlapping(kinds []string, hosts []*host) [][]string {
	var out [][]string
	for _, k := range kinds {
		joint := []string{k}
		out = slices.DeleteFunc(out, func(set []string) bool {
			meets := slices.ContainsFunc(hosts, func(h *host) bool { return h.meets(set, k) })
			if meets {
				joint = append(joint, set...)
			}
			return meets
		})
		slices.Sort(joint)
		out = append(out, joint)
	}
	return out
}

// host is what has devices: a node or an instance type.
type host struct {
	devices []*catalog.Device
	// selected are the devices of each kind.
	selected map[string][]bool
}

func newHost(list []*catalog.Device, kinds map[string]*kind, selector Selector) *host {
	h := &host{list, make(map[string][]bool, len(kinds))}
	for words, k := range kinds {
		h.selected[words] = k.of(list, selector)
	}
	return h
}

// meets reports whether a kind selects a device that one of a set selects.
func (h *host) meets(set []string, k string) bool {
	for i := range h.devices {
		if h.selected[k][i] && h.chosen(set, i) {
			return true
		}
	}
	return false
}

// chosen reports whether one of the kinds selects the i-th device.
func (h *host) chosen(set []string, i int) bool {
	return slices.ContainsFunc(set, func(k string) bool { return h.selected[k][i] })
}

// has is how much the host has of each dimension, without the devices that are taken, and the
// drivers of those devices.
func (h *host) has(dims []dimension, taken func(i int) bool) (amounts map[corev1.ResourceName]int64, drivers map[corev1.ResourceName][]string) {
	amounts, drivers = map[corev1.ResourceName]int64{}, map[corev1.ResourceName][]string{}
	for _, d := range dims {
		of := map[string]bool{}
		for i, x := range h.devices {
			if h.chosen(d.kinds, i) && !taken(i) {
				amounts[d.name]++
				of[x.Driver] = true
			}
		}
		if len(of) > 0 && len(d.kinds) == 1 {
			drivers[d.name] = slices.Sorted(maps.Keys(of))
		}
	}
	return amounts, drivers
}

// asksFor is how much of each dimension is asked for.
func asksFor(a asked, dims []dimension) map[corev1.ResourceName]int64 {
	out := map[corev1.ResourceName]int64{}
	for _, d := range dims {
		for _, k := range d.kinds {
			if a[k] > 0 {
				out[d.name] += a[k]
			}
		}
	}
	return out
}

func quantities(amounts map[corev1.ResourceName]int64) corev1.ResourceList {
	out := make(corev1.ResourceList, len(amounts))
	for name, n := range amounts {
		out[name] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	return out
}
