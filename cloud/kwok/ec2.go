package kwok

import (
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// EBSDriver is the name of the EBS CSI driver, under which the EC2 types list
// their attachment limits.
const EBSDriver = "ebs.csi.aws.com"

// ec2Zones are the zones of the catalogue. EC2 maps zone names to zone IDs per
// account, so the IDs are examples; and it does not sell every type in every
// zone, which the catalogue does.
var ec2Zones = []struct {
	name   string
	labels map[string]string
}{
	{"us-east-1a", map[string]string{labelZoneID: "use1-az1"}},
	{"us-east-1b", map[string]string{labelZoneID: "use1-az2"}},
	{"us-east-1c", map[string]string{labelZoneID: "use1-az4"}},
}

// EC2Catalogue is some 1,300 instance types of EC2 in us-east-1, by name, amd64
// and arm64, bare metal as well. vCPUs, memory, pods (by network interfaces), GPUs, instance store
// and EBS limits are EC2's; allocatable is what an Amazon Linux node of EKS with
// 7.5 % of VM memory overhead and a 20 GiB root volume offers; on-demand prices
// are those that the AWS provider module publishes.
//
// Spot prices are synthetic: a fixed pseudo-random share of the on-demand price,
// 28 to 70 %, that differs by type and zone. So are the zone IDs and the claim
// that every zone sells every type. EFA is listed where known.
//
// The result is shared and must not be modified; it is built once.
func EC2Catalogue() ([]*catalog.Type, error) { return ec2Catalogue() }

var ec2Catalogue = sync.OnceValues(buildEC2)

func buildEC2() ([]*catalog.Type, error) {
	rows, err := ec2.Types()
	if err != nil {
		return nil, err
	}
	types := make([]*catalog.Type, len(rows))
	for i, t := range rows {
		types[i] = ec2Type{t}.catalogType()
	}
	return types, nil
}

// ec2Type is a type of EC2 as this package offers it.
type ec2Type struct{ ec2.Type }

func (t ec2Type) catalogType() *catalog.Type {
	out := &catalog.Type{
		Name:         t.Name,
		Capacity:     t.capacity(),
		Overhead:     t.overhead(),
		Offerings:    t.offerings(),
		AttachLimits: map[string]int64{EBSDriver: t.attachLimit()},
		Exotic:       t.BareMetal() || t.Accelerators > 0,
		BareMetal:    t.BareMetal(),
	}
	values := t.labels()
	maps.Copy(values, offeringValues(out.Offerings))
	memory := out.Capacity[corev1.ResourceMemory]
	maps.Copy(values, kwokLabels(t.Name, strconv.FormatInt(t.VCPUs, 10), memory.String()))
	out.Requirements = labelSet(values)
	out.Image = imageOf(out.Requirements)
	return out
}

const (
	mib = 1 << 20
	gib = 1 << 30
	// rootVolumeGiB is the default root volume of an EKS node.
	rootVolumeGiB = 20
	// vmMemoryOverhead is the share of memory that the hypervisor keeps, as
	// Karpenter assumes by default.
	vmMemoryOverhead = 0.075
	// armOverheadMiB is what firmware keeps on Graviton.
	armOverheadMiB = 64
)

// pods is how many pod addresses the network interfaces hold, and the two
// host-network pods that need none.
func (t ec2Type) pods() int64 { return t.ENIs*(t.IPv4-1) + 2 }

func (t ec2Type) capacity() corev1.ResourceList {
	memory := t.MemoryMiB
	if t.Arch() == "arm64" {
		memory -= armOverheadMiB
	}
	memory -= int64(math.Ceil(float64(memory) * vmMemoryOverhead))
	list := corev1.ResourceList{
		corev1.ResourceCPU:              count(t.VCPUs),
		corev1.ResourceMemory:           size(memory * mib),
		corev1.ResourceEphemeralStorage: size(rootVolumeGiB * gib),
		corev1.ResourcePods:             count(t.pods()),
	}
	for name, n := range map[corev1.ResourceName]int64{
		"vpc.amazonaws.com/pod-eni": t.PodENIs,
		"vpc.amazonaws.com/efa":     t.EFAs,
		"nvidia.com/gpu":            t.gpus("nvidia"),
		"amd.com/gpu":               t.gpus("amd"),
		"aws.amazon.com/neuron":     t.neurons(),
		"aws.amazon.com/neuroncore": t.neurons() * t.CoresPerNeuron(),
	} {
		if n > 0 {
			list[name] = count(n)
		}
	}
	return list
}

// overhead is what EKS reserves: CPU in bands, 11 MiB of memory per pod and 255
// more, 100 MiB before eviction, 1 GiB of disk and a tenth before eviction.
func (t ec2Type) overhead() corev1.ResourceList {
	milli := int64(0)
	for _, band := range []struct{ from, to, reserve float64 }{{0, 1, 60}, {1, 2, 10}, {2, 4, 5}, {4, math.MaxInt32, 2.5}} {
		milli += int64(max(0, min(float64(t.VCPUs), band.to)-band.from) * band.reserve)
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(milli, resource.DecimalSI),
		corev1.ResourceMemory:           size((11*t.pods() + 255 + 100) * mib),
		corev1.ResourceEphemeralStorage: size(gib + rootVolumeGiB*gib/10),
	}
}

func (t ec2Type) neurons() int64 {
	if t.Neuron() {
		return t.Accelerators
	}
	return 0
}

func (t ec2Type) gpus(maker string) int64 {
	if t.GPUMaker() == maker {
		return t.Accelerators
	}
	return 0
}

// attachLimit is how many EBS volumes pods can have: the EBS CSI driver takes
// the root volume off EC2's limit and, where slots are shared, the second
// network interface that the VPC CNI attaches at once (EC2's figure has already
// counted the first interface, disks and accelerators). On Xen the driver counts
// 39 slots where EC2 has 40. It never reports less than one.
func (t ec2Type) attachLimit() int64 {
	const root, secondInterface, xenDifference = 1, 1, 1
	switch {
	case t.Hypervisor == "xen":
		return t.EBSLimit - xenDifference - root
	case !t.EBSShared:
		return t.EBSLimit - root
	}
	return max(1, t.EBSLimit-root-secondInterface)
}

func (t ec2Type) offerings() []catalog.Offering {
	out := make([]catalog.Offering, 0, 2*len(ec2Zones))
	for _, z := range ec2Zones {
		o := catalog.Offering{Zone: z.name, CapacityType: catalog.OnDemand, Price: t.OnDemand, Available: true, Labels: z.labels}
		out = append(out, o)
		if t.Spot {
			o.CapacityType, o.Price = catalog.Spot, spotPrice(t.Name, z.name, t.OnDemand)
			out = append(out, o)
		}
	}
	return out
}

func (t ec2Type) labels() map[string][]string {
	family, size, _ := strings.Cut(t.Name, ".")
	category, generation := ec2.Category(t.Name)
	values := map[string][]string{
		corev1.LabelInstanceTypeStable: {t.Name},
		corev1.LabelArchStable:         {t.Arch()},
		corev1.LabelOSStable:           {"linux"},
		corev1.LabelTopologyRegion:     {ec2.Region},
		labelCategory:                  {category},
		labelGeneration:                {generation},
		labelFamily:                    {family},
		labelSize:                      {size},
		labelFlex:                      {strconv.FormatBool(strings.Contains(family, "-flex"))},
		labelCPU:                       {strconv.FormatInt(t.VCPUs, 10)},
		labelMaker:                     {t.Maker},
		labelMemory:                    {strconv.FormatInt(t.MemoryMiB, 10)},
		labelHypervisor:                {t.Hypervisor},
		labelEncryption:                {strconv.FormatBool(t.EncryptsTransit)},
		labelTenancy:                   {"dedicated", "default"},
	}
	number := func(key string, n int64) {
		if n > 0 {
			values[key] = []string{strconv.FormatInt(n, 10)}
		}
	}
	number(labelNVMe, t.NVMeGB)
	number(labelNetwork, t.NetworkMbps)
	number(labelEBS, t.EBSMbps)
	number(labelClock, t.ClockMHz)
	number(labelAccelCount, t.neurons())
	if t.Neuron() {
		values[labelAccelName], values[labelAccelMaker] = []string{t.Accelerator}, []string{"aws"}
	}
	if maker := t.GPUMaker(); maker != "" {
		values[labelGPUName], values[labelGPUMaker] = []string{t.Accelerator}, []string{maker}
		number(labelGPUCount, t.Accelerators)
		number(labelGPUMemory, t.AcceleratorMiB)
	}
	return values
}

func count(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }
func size(n int64) resource.Quantity  { return *resource.NewQuantity(n, resource.BinarySI) }
