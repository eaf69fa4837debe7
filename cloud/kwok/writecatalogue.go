package kwok

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// WriteCatalogue writes types in the long form of KWOK's instance-types.json, so
// that Karpenter's KWOK provider can run on the same catalogue. The format holds
// name, architecture, operating systems, capacity and offerings; the reader
// makes up overhead and labels by KWOK's rules, and attachment limits are lost.
func WriteCatalogue(w io.Writer, types []*catalog.Type) error {
	type offering struct {
		Price               float64
		Available           bool
		ReservationCapacity *int `json:",omitempty"`
		Requirements        []corev1.NodeSelectorRequirement
	}
	type entry struct {
		Name             string              `json:"name"`
		Offerings        []offering          `json:"offerings"`
		Architecture     string              `json:"architecture"`
		OperatingSystems []string            `json:"operatingSystems"`
		Resources        corev1.ResourceList `json:"resources"`
	}
	list := make([]entry, len(types))
	for i, t := range types {
		arch := t.Requirements.Get(corev1.LabelArchStable).Values()
		if len(arch) != 1 {
			return fmt.Errorf("writing instance type %s: want one architecture, not %v", t.Name, arch)
		}
		list[i] = entry{
			Name: t.Name, Architecture: arch[0], Resources: t.Capacity,
			OperatingSystems: t.Requirements.Get(corev1.LabelOSStable).Values(),
		}
		for _, o := range t.Offerings {
			written := offering{Price: o.Price, Available: o.Available, Requirements: offeringSelector(o)}
			if o.Reservation != "" {
				written.ReservationCapacity = &o.Left
			}
			list[i].Offerings = append(list[i].Offerings, written)
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "    ")
	return encoder.Encode(list)
}

func offeringSelector(o catalog.Offering) []corev1.NodeSelectorRequirement {
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	out := []corev1.NodeSelectorRequirement{in(catalog.CapacityTypeLabel, o.CapacityType), in(corev1.LabelTopologyZone, o.Zone)}
	for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
		out = append(out, in(key, o.Labels[key]))
	}
	return out
}
