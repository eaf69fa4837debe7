package kwok

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// KWOKCatalogue is the 144 made-up instance types that Karpenter's KWOK provider
// has by default, by name: 1 to 256 CPUs with 2, 4 or 8 GiB each, Linux and
// Windows, amd64 and arm64, in four zones, spot at 0.7 of the on-demand price.
// The result is the caller's.
func KWOKCatalogue() []*catalog.Type {
	var out []*catalog.Type
	for _, cpus := range []int64{1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256} {
		for family, factor := range map[string]int64{"c": 2, "s": 4, "m": 8} {
			for _, os := range []string{"linux", "windows"} {
				for _, arch := range []string{"amd64", "arm64"} {
					out = append(out, genericType(family, cpus, cpus*factor*gib, arch, os))
				}
			}
		}
	}
	sortTypes(out)
	return out
}

func genericType(family string, cpus, memory int64, arch, os string) *catalog.Type {
	price := 0.025*float64(cpus) + 0.001*float64(memory)/1e9
	var offerings []catalog.Offering
	for _, zone := range []string{"test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"} {
		offerings = append(offerings,
			catalog.Offering{Zone: zone, CapacityType: catalog.OnDemand, Price: price, Available: true},
			catalog.Offering{Zone: zone, CapacityType: catalog.Spot, Price: price * 0.7, Available: true})
	}
	return kwokType(fmt.Sprintf("%s-%dx-%s-%s", family, cpus, arch, os), []string{arch}, []string{os}, corev1.ResourceList{
		corev1.ResourceCPU:              count(cpus),
		corev1.ResourceMemory:           size(memory),
		corev1.ResourceEphemeralStorage: size(20 * gib),
		corev1.ResourcePods:             count(min(16*cpus, 1024)),
	}, offerings)
}

// kwokType is a type as KWOK understands it: with its labels and its fixed
// overhead of 100m and 10Mi.
func kwokType(name string, arches, oses []string, capacity corev1.ResourceList, offerings []catalog.Offering) *catalog.Type {
	cpu, memory := capacity[corev1.ResourceCPU], capacity[corev1.ResourceMemory]
	values := map[string][]string{
		corev1.LabelInstanceTypeStable: {name},
		corev1.LabelArchStable:         arches,
		corev1.LabelOSStable:           oses,
	}
	maps.Copy(values, kwokLabels(name, cpu.String(), memory.String()))
	maps.Copy(values, offeringValues(offerings))
	labels := labelSet(values)
	return &catalog.Type{
		Name:         name,
		Image:        imageOf(labels),
		Requirements: labels,
		Capacity:     capacity,
		Overhead: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(100, resource.DecimalSI),
			corev1.ResourceMemory: size(10 * mib),
		},
		Offerings: offerings,
	}
}

func sortTypes(types []*catalog.Type) {
	slices.SortFunc(types, func(a, b *catalog.Type) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range types {
		slices.SortFunc(t.Offerings, func(a, b catalog.Offering) int {
			return cmp.Or(strings.Compare(a.Zone, b.Zone), strings.Compare(a.CapacityType, b.CapacityType))
		})
	}
}
