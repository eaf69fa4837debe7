package instancetype

import (
	"slices"
	"strconv"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// WellKnown are the labels on which every type says something, if only that its Nodes do
// not carry it, by name.
func WellKnown() []string { return slices.Clone(wellKnown) }

var wellKnown = func() []string {
	keys := []string{
		corev1.LabelInstanceTypeStable, corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelTopologyZone,
		corev1.LabelTopologyRegion, corev1.LabelWindowsBuild, catalog.CapacityTypeLabel,
		ec2class.LabelInstanceCategory, ec2class.LabelInstanceGeneration, ec2class.LabelInstanceFamily, ec2class.LabelInstanceSize,
		ec2class.LabelInstanceCapabilityFlex, ec2class.LabelInstanceCPU, ec2class.LabelInstanceCPUManufacturer,
		ec2class.LabelInstanceCPUSustainedClockSpeedMhz, ec2class.LabelInstanceMemory, ec2class.LabelInstanceEBSBandwidth,
		ec2class.LabelInstanceNetworkBandwidth, ec2class.LabelInstanceLocalNVME, ec2class.LabelInstanceHypervisor,
		ec2class.LabelInstanceEncryptionInTransitSupported, ec2class.LabelInstanceTenancy,
		ec2class.LabelInstanceGPUName, ec2class.LabelInstanceGPUManufacturer, ec2class.LabelInstanceGPUCount, ec2class.LabelInstanceGPUMemory,
		ec2class.LabelInstanceAcceleratorName, ec2class.LabelInstanceAcceleratorManufacturer, ec2class.LabelInstanceAcceleratorCount,
		ec2class.LabelCapacityReservationID, ec2class.LabelCapacityReservationType, ec2class.LabelCapacityReservationInterruptible,
		ec2class.LabelPlacementGroupID, ec2class.LabelPlacementGroupPartition, ec2class.LabelTopologyZoneID,
	}
	slices.Sort(keys)
	return keys
}()

// Tenancies are the values of the tenancy label; the first is taken where both would do.
var Tenancies = []string{"default", "dedicated"}

// labels are the values that each label may take on Nodes of the type; the offerings'
// are added by offers.
func (c *Class) labels(i *Info) map[string][]string {
	v := values{}
	family, size, _ := strings.Cut(i.Name, ".")
	category, generation := ec2.Category(i.Name)
	v.text(corev1.LabelInstanceTypeStable, i.Name)
	v.text(corev1.LabelArchStable, i.Arch)
	v.text(corev1.LabelTopologyRegion, c.Region)
	v.text(ec2class.LabelInstanceCategory, category)
	v.text(ec2class.LabelInstanceGeneration, generation)
	v.text(ec2class.LabelInstanceFamily, family)
	v.text(ec2class.LabelInstanceSize, size)
	v.text(ec2class.LabelInstanceCapabilityFlex, strconv.FormatBool(strings.Contains(family, "-flex")))
	v.number(ec2class.LabelInstanceCPU, i.VCPUs)
	v.text(ec2class.LabelInstanceCPUManufacturer, word(i.Maker))
	v.number(ec2class.LabelInstanceCPUSustainedClockSpeedMhz, i.ClockMHz)
	v.number(ec2class.LabelInstanceMemory, i.MemoryMiB)
	v.number(ec2class.LabelInstanceEBSBandwidth, i.EBSMbps)
	v.number(ec2class.LabelInstanceNetworkBandwidth, i.NetworkMbps)
	v.text(ec2class.LabelInstanceHypervisor, i.Hypervisor)
	v.text(ec2class.LabelInstanceEncryptionInTransitSupported, strconv.FormatBool(i.EncryptsTransit))
	if i.NVMe {
		v.number(ec2class.LabelInstanceLocalNVME, i.StoreGB)
	}
	v[ec2class.LabelInstanceTenancy] = Tenancies
	v.text(ec2class.LabelPlacementGroupID, c.PlacementGroup)
	for n := range c.Partitions {
		v[ec2class.LabelPlacementGroupPartition] = append(v[ec2class.LabelPlacementGroupPartition], strconv.FormatInt(n+1, 10))
	}
	v.text(corev1.LabelOSStable, string(corev1.Linux))
	if build := c.family().windows; build != "" {
		v.text(corev1.LabelOSStable, string(corev1.Windows))
		v.text(corev1.LabelWindowsBuild, build)
	}
	v.accelerators(i)
	return v
}

type values map[string][]string

// text and number leave out what is not known.
func (v values) text(key, value string) {
	if value != "" {
		v[key] = []string{value}
	}
}

func (v values) number(key string, n int64) {
	if n > 0 {
		v[key] = []string{strconv.FormatInt(n, 10)}
	}
}

// accelerators describes those of a type that has one model.
func (v values) accelerators(i *Info) {
	if len(i.GPUs) == 1 {
		gpu := i.GPUs[0]
		v.text(ec2class.LabelInstanceGPUName, word(gpu.Name))
		v.text(ec2class.LabelInstanceGPUManufacturer, word(gpu.Maker))
		v.number(ec2class.LabelInstanceGPUCount, gpu.Count)
		v.number(ec2class.LabelInstanceGPUMemory, gpu.MemoryMiB)
	}
	chips := i.Neurons
	if len(chips) == 0 {
		chips = i.Inference
	}
	if len(chips) == 1 {
		v.text(ec2class.LabelInstanceAcceleratorName, word(chips[0].Name))
		v.text(ec2class.LabelInstanceAcceleratorManufacturer, word(chips[0].Maker))
		v.number(ec2class.LabelInstanceAcceleratorCount, chips[0].Count)
	}
}

// set is one requirement for each label: the values, or for a well-known label that has
// none that Nodes do not carry it.
func (v values) set() requirement.Set {
	out := make(requirement.Set, 0, len(wellKnown))
	for _, key := range wellKnown {
		if known := v[key]; len(known) > 0 {
			out = append(out, requirement.Must(key, requirement.In, known...))
		} else {
			out = append(out, requirement.Must(key, requirement.DoesNotExist))
		}
	}
	return out
}
