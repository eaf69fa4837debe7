package enginetest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Zones are those in which the made-up cloud sells everything.
var zones = []string{"zone-a", "zone-b", "zone-c"}

// family is a row of machines with one ratio of memory to CPU. The figures are
// made up, but in the proportions of a real cloud: price linear in size, a
// little cheaper for older and for Arm machines, limits on pods that grow in
// steps.
type family struct {
	name      string
	arch      string
	gibPerCPU float64
	perCPU    float64 // $/h
}

var sizes = []struct {
	name string
	cpus int64
	pods int64
}{
	{"medium", 1, 8}, {"large", 2, 29}, {"xlarge", 4, 58}, {"2xlarge", 8, 58}, {"4xlarge", 16, 234},
	{"8xlarge", 32, 234}, {"12xlarge", 48, 234}, {"16xlarge", 64, 737}, {"24xlarge", 96, 737}, {"48xlarge", 192, 737},
}

func families() []family {
	var out []family
	for _, shape := range []struct {
		letter string
		gib    float64
		price  float64
	}{{"c", 2, 0.0425}, {"m", 4, 0.048}, {"r", 8, 0.063}} {
		for generation, factor := range []float64{1, 1.01, 1.05, 1.1} {
			for _, maker := range []struct {
				suffix, arch string
				factor       float64
			}{{"i", "amd64", 1}, {"a", "amd64", 0.9}, {"n", "amd64", 1.27}, {"d", "amd64", 1.2}, {"g", "arm64", 0.8}, {"gd", "arm64", 0.94}, {"gn", "arm64", 1.02}} {
				out = append(out, family{
					name: fmt.Sprintf("%s%d%s", shape.letter, generation+5, maker.suffix), arch: maker.arch,
					gibPerCPU: shape.gib, perCPU: shape.price * factor * maker.factor,
				})
			}
		}
	}
	return out
}

// Catalogue is a made-up cloud of about 900 types, by name: three zones, spot and
// on-demand, some with GPUs. maxCPUs leaves out the larger ones; 0 keeps all.
func Catalogue(maxCPUs int64) []*catalog.Type {
	var out []*catalog.Type
	for _, f := range families() {
		for _, size := range sizes {
			if maxCPUs == 0 || size.cpus <= maxCPUs {
				out = append(out, newType(f.name+"."+size.name, f, size.cpus, size.pods, 0))
			}
		}
	}
	gpus := family{name: "g6i", arch: "amd64", gibPerCPU: 4, perCPU: 0.05}
	for i, size := range sizes[2:] {
		if maxCPUs == 0 || size.cpus <= maxCPUs {
			out = append(out, newType(gpus.name+"."+size.name, gpus, size.cpus, size.pods, 1<<(i/2)))
		}
	}
	slices.SortFunc(out, func(a, b *catalog.Type) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func newType(name string, f family, cpus, pods, gpus int64) *catalog.Type {
	gib := float64(cpus) * f.gibPerCPU
	letter := f.name[:1]
	t := &catalog.Type{
		Name: name,
		Requirements: requirement.NewSet(
			requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, name),
			requirement.Must(corev1.LabelArchStable, requirement.In, f.arch),
			requirement.Must(corev1.LabelOSStable, requirement.In, "linux"),
			requirement.Must(corev1.LabelTopologyZone, requirement.In, zones...),
			requirement.Must(catalog.CapacityTypeLabel, requirement.In, catalog.Spot, catalog.OnDemand),
			requirement.Must("example.com/category", requirement.In, letter),
			requirement.Must("example.com/family", requirement.In, f.name),
			requirement.Must("example.com/cpu", requirement.In, fmt.Sprint(cpus)),
		),
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU:              *resource.NewQuantity(cpus, resource.DecimalSI),
			corev1.ResourceMemory:           *resource.NewQuantity(int64(gib*0.925*(1<<30)), resource.BinarySI),
			corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
			corev1.ResourcePods:             *resource.NewQuantity(pods, resource.DecimalSI),
		},
		Overhead: corev1.ResourceList{
			corev1.ResourceCPU:              *resource.NewMilliQuantity(reservedCPU(cpus), resource.DecimalSI),
			corev1.ResourceMemory:           *resource.NewQuantity((355+11*pods)<<20, resource.BinarySI),
			corev1.ResourceEphemeralStorage: resource.MustParse("3Gi"),
		},
		AttachLimits: map[string]int64{"ebs.csi.aws.com": 27},
	}
	price := float64(cpus) * f.perCPU
	if gpus > 0 {
		t.Exotic = true
		t.Capacity["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
		price += float64(gpus) * 0.6
	}
	for _, zone := range zones {
		for _, capacityType := range []string{catalog.OnDemand, catalog.Spot} {
			t.Offerings = append(t.Offerings, catalog.Offering{Zone: zone, CapacityType: capacityType, Price: priceOf(price, capacityType), Available: true})
		}
	}
	return t
}

// reservedCPU is what EKS keeps of a machine's CPU, in thousandths.
func reservedCPU(cpus int64) int64 {
	reserved := 60.0
	for n := int64(2); n <= cpus; n++ {
		switch {
		case n == 2:
			reserved += 10
		case n <= 4:
			reserved += 5
		default:
			reserved += 2.5
		}
	}
	return int64(math.Ceil(reserved))
}

func priceOf(price float64, capacityType string) float64 {
	if capacityType == catalog.Spot {
		price *= 0.4
	}
	return math.Round(price*1e5) / 1e5
}
