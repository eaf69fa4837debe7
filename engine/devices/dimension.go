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
func dimensions(kinds map[string]*kind, hosts []*host) []dimension {
	var out []dimension
	for _, joint := range overlapping(slices.Sorted(maps.Keys(kinds)), hosts) {
		sets := subsets(joint)
		if len(joint) > mostJoint {
			sets = [][]string{joint}
			for _, k := range joint {
				sets = append(sets, []string{k})
			}
		}
		for _, set := range sets {
			d := dimension{corev1.ResourceName(snapshot.DevicePrefix + strings.Join(set, " or ")), set}
			if r := kinds[set[0]].resource; r != "" && len(set) == 1 {
				d.name = r
			}
			out = append(out, d)
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
	// plugged is how much a device plugin offers of the extended resources among the kinds. Where it
	// offers any, kube-scheduler takes no devices for them.
	plugged map[string]int64
}

func newHost(list []*catalog.Device, kinds map[string]*kind, selector Selector) *host {
	h := &host{list, make(map[string][]bool, len(kinds)), map[string]int64{}}
	for words, k := range kinds {
		h.selected[words] = k.of(list, selector)
	}
	return h
}

// plug counts what a device plugin offers of one kind.
func (h *host) plug(k *kind, offers corev1.ResourceList) {
	if n := offers[k.resource]; k.resource != "" && n.Value() > 0 {
		h.plugged[k.words] = n.Value()
		clear(h.selected[k.words])
	}
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
		for _, k := range d.kinds {
			if n := h.plugged[k]; n > 0 && len(d.kinds) > 1 { // alone it is among the resources already
				amounts[d.name] += n
			}
		}
		for i, x := range h.devices {
			if h.chosen(d.kinds, i) && !taken(i) {
				amounts[d.name]++
				of[x.Driver] = true
			}
		}
		if len(d.kinds) == 1 && (len(of) > 0 || string(d.name) == d.kinds[0]) {
			drivers[d.name] = slices.Sorted(maps.Keys(of))
		}
	}
	return amounts, drivers
}

// asksFor is how much of each dimension is asked for, but for what a host, which may be nil, has
// of a device plugin.
func asksFor(a asked, dims []dimension, on *host) map[corev1.ResourceName]int64 {
	out := map[corev1.ResourceName]int64{}
	for _, d := range dims {
		for _, k := range d.kinds {
			if a[k] > 0 && (on == nil || on.plugged[k] == 0) {
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
