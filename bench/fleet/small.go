package fleet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Zones are those of the small catalogue.
var Zones = []string{"zone-a", "zone-b", "zone-c"}

// Labels of the AWS provider that pools select by.
const (
	CategoryLabel   = "karpenter.k8s.aws/instance-category"
	GenerationLabel = "karpenter.k8s.aws/instance-generation"
)

// family is a row of sizes that differ only by a factor.
type family struct {
	name, arch      string
	memoryPerCore   int64   // GiB
	pricePerCoreUSD float64 // an hour
}

// Small is a made-up catalogue of 30 types: compute, general and memory
// families of two architectures, 2 to 32 vCPUs, priced in proportion to size.
func Small() []*catalog.Type {
	families := []family{
		{"c1", "amd64", 2, 0.0425}, {"m1", "amd64", 4, 0.048}, {"r1", "amd64", 8, 0.063},
		{"c1g", "arm64", 2, 0.036}, {"m1g", "arm64", 4, 0.0408}, {"r1g", "arm64", 8, 0.0535},
	}
	var out []*catalog.Type
	for _, f := range families {
		for _, cores := range []int64{2, 4, 8, 16, 32} {
			out = append(out, smallType(f, cores))
		}
	}
	return out
}

func smallType(f family, cores int64) *catalog.Type {
	name := fmt.Sprintf("%s.%02dcore", f.name, cores)
	quantity := func(format string, n int64) resource.Quantity { return resource.MustParse(fmt.Sprintf(format, n)) }
	t := &catalog.Type{
		Name: name,
		Requirements: requirement.NewSet(
			requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, name),
			requirement.Must(corev1.LabelArchStable, requirement.In, f.arch),
			requirement.Must(corev1.LabelOSStable, requirement.In, "linux"),
			requirement.Must(corev1.LabelTopologyZone, requirement.In, Zones...),
			requirement.Must(catalog.CapacityTypeLabel, requirement.In, catalog.OnDemand),
			requirement.Must(CategoryLabel, requirement.In, f.name[:1]),
			requirement.Must(GenerationLabel, requirement.In, "7"),
		),
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU:              quantity("%d", cores),
			corev1.ResourceMemory:           quantity("%dGi", cores*f.memoryPerCore),
			corev1.ResourcePods:             quantity("%d", min(29*cores/2, 234)),
			corev1.ResourceEphemeralStorage: quantity("%dGi", 20),
		},
		Overhead: corev1.ResourceList{
			corev1.ResourceCPU:    quantity("%dm", 70+10*cores),
			corev1.ResourceMemory: quantity("%dMi", 500+50*cores),
		},
	}
	for _, z := range Zones {
		t.Offerings = append(t.Offerings, catalog.Offering{
			Zone: z, CapacityType: catalog.OnDemand, Price: f.pricePerCoreUSD * float64(cores), Available: true,
		})
	}
	return t
}
