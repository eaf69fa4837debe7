package karpenter

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// InstanceTypes writes the catalogue in Karpenter's terms: a requirement for
// every label that any type knows, DoesNotExist where this type lacks it, as
// its cloud providers do.
func InstanceTypes(types []*catalog.Type) []*cloudprovider.InstanceType {
	known := labelKeys(types)
	out := make([]*cloudprovider.InstanceType, len(types))
	for i, t := range types {
		out[i] = instanceType(t, known)
	}
	return out
}

func instanceType(t *catalog.Type, known sets.Set[string]) *cloudprovider.InstanceType {
	reqs := requirements(t.Requirements)
	for key := range known {
		if !reqs.Has(key) {
			reqs.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	it := &cloudprovider.InstanceType{
		Name:         t.Name,
		Requirements: reqs,
		Capacity:     t.Capacity.DeepCopy(),
		Overhead:     &cloudprovider.InstanceTypeOverhead{KubeReserved: t.Overhead.DeepCopy()},
	}
	for _, o := range t.Offerings {
		it.Offerings = append(it.Offerings, &cloudprovider.Offering{
			Requirements: requirements(o.Requirements()),
			Price:        o.Price,
			Available:    o.Available,
		})
	}
	return it
}

func requirements(s requirement.Set) scheduling.Requirements {
	out := scheduling.NewRequirements()
	for _, r := range s {
		for _, e := range r.NodeSelectorRequirements() {
			out.Add(scheduling.NewRequirement(e.Key, e.Operator, e.Values...))
		}
	}
	return out
}

// labelKeys are the labels that the catalogue's types define.
func labelKeys(types []*catalog.Type) sets.Set[string] {
	keys := sets.New[string]()
	for _, t := range types {
		for _, r := range t.Requirements {
			keys.Insert(r.Key())
		}
	}
	return keys
}

// RegisterLabels makes the catalogue's labels well-known, as a cloud provider
// does when it starts: a template may leave them open until a type is chosen.
// The set is Karpenter's and process-wide.
func RegisterLabels(types []*catalog.Type) {
	karpv1.WellKnownLabels = karpv1.WellKnownLabels.Union(labelKeys(types))
}
