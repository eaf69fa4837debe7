package kwok

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/kwok/apis/v1alpha1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Labels of the AWS provider that its instance types define, under their
// published names. They are spelled out here because the package that publishes
// them brings the AWS SDK along.
const (
	awsGroup = "karpenter.k8s.aws/"

	labelCategory      = awsGroup + "instance-category"
	labelGeneration    = awsGroup + "instance-generation"
	labelFamily        = awsGroup + "instance-family"
	labelSize          = awsGroup + "instance-size"
	labelFlex          = awsGroup + "instance-capability-flex"
	labelCPU           = awsGroup + "instance-cpu"
	labelMaker         = awsGroup + "instance-cpu-manufacturer"
	labelMemory        = awsGroup + "instance-memory"
	labelNetwork       = awsGroup + "instance-network-bandwidth"
	labelEBS           = awsGroup + "instance-ebs-bandwidth"
	labelClock         = awsGroup + "instance-cpu-sustained-clock-speed-mhz"
	labelNVMe          = awsGroup + "instance-local-nvme"
	labelHypervisor    = awsGroup + "instance-hypervisor"
	labelEncryption    = awsGroup + "instance-encryption-in-transit-supported"
	labelGPUName       = awsGroup + "instance-gpu-name"
	labelGPUMaker      = awsGroup + "instance-gpu-manufacturer"
	labelGPUCount      = awsGroup + "instance-gpu-count"
	labelGPUMemory     = awsGroup + "instance-gpu-memory"
	labelAccelName     = awsGroup + "instance-accelerator-name"
	labelAccelMaker    = awsGroup + "instance-accelerator-manufacturer"
	labelAccelCount    = awsGroup + "instance-accelerator-count"
	labelTenancy       = awsGroup + "instance-tenancy"
	labelZoneID        = "topology.k8s.aws/zone-id"
	labelInstancePrice = v1alpha1.NodeViewerLabelKey
)

// wellKnown are the labels on which every type of every catalogue says
// something, if only that its nodes do not carry it: a claim that asks for one
// of them must not be taken to mean "any value will do". A label that only the
// other cloud's types have is among them.
var wellKnown = []string{
	corev1.LabelInstanceTypeStable, corev1.LabelArchStable, corev1.LabelOSStable,
	corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelWindowsBuild,
	catalog.CapacityTypeLabel,

	v1alpha1.InstanceSizeLabelKey, v1alpha1.InstanceFamilyLabelKey,
	v1alpha1.InstanceCPULabelKey, v1alpha1.InstanceMemoryLabelKey,

	labelCategory, labelGeneration, labelFamily, labelSize, labelFlex, labelCPU, labelMaker, labelMemory,
	labelNetwork, labelEBS, labelClock, labelNVMe, labelHypervisor, labelEncryption,
	labelGPUName, labelGPUMaker, labelGPUCount, labelGPUMemory,
	labelAccelName, labelAccelMaker, labelAccelCount, labelTenancy, labelZoneID,
	awsGroup + "capacity-reservation-id", awsGroup + "capacity-reservation-type",
	awsGroup + "capacity-reservation-interruptible",
	awsGroup + "placement-group-id", awsGroup + "placement-group-partition",
}

// absent is the requirement DoesNotExist on each well-known label, sorted by
// key. The values are shared by all types.
var absent = sync.OnceValue(func() requirement.Set {
	keys := slices.Clone(wellKnown)
	slices.Sort(keys)
	set := make(requirement.Set, len(keys))
	for i, key := range keys {
		set[i] = requirement.Must(key, requirement.DoesNotExist)
	}
	return set
})

// labelSet says which values each label may take on a type's nodes: those given,
// and none for the other well-known labels. It builds the sorted set in one go,
// because a catalogue has tens of thousands of requirements.
func labelSet(values map[string][]string) requirement.Set {
	set := make(requirement.Set, 0, len(wellKnown)+2)
	further := 0
	for _, none := range absent() {
		if v, ok := values[none.Key()]; ok {
			set = append(set, requirement.Must(none.Key(), requirement.In, v...))
			further++
		} else {
			set = append(set, none)
		}
	}
	if further == len(values) {
		return set
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(wellKnown, key) {
			set = append(set, requirement.Must(key, requirement.In, values[key]...))
		}
	}
	slices.SortFunc(set, func(a, b requirement.Requirement) int { return strings.Compare(a.Key(), b.Key()) })
	return set
}

// offeringValues are the values that the offerings give to each label, to be
// listed among a type's requirements.
func offeringValues(offerings []catalog.Offering) map[string][]string {
	values := map[string][]string{}
	for _, o := range offerings {
		values[corev1.LabelTopologyZone] = append(values[corev1.LabelTopologyZone], o.Zone)
		values[catalog.CapacityTypeLabel] = append(values[catalog.CapacityTypeLabel], o.CapacityType)
		for k, v := range o.Labels {
			values[k] = append(values[k], v)
		}
	}
	return values
}

// kwokLabels are what KWOK derives from a type's name and size: the family is
// what stands before the first dot or dash, the size what follows the dot in
// EC2's names and the number of CPUs otherwise.
func kwokLabels(name, cpu, memory string) map[string][]string {
	family := name
	if i := strings.IndexAny(name, ".-"); i > 0 {
		family = name[:i]
	} else if name != "" {
		family = name[:1]
	}
	size := cpu
	if _, after, ok := strings.Cut(name, "."); ok && isEC2Size(after) {
		size = after
	}
	return map[string][]string{
		v1alpha1.InstanceFamilyLabelKey: {family},
		v1alpha1.InstanceSizeLabelKey:   {size},
		v1alpha1.InstanceCPULabelKey:    {cpu},
		v1alpha1.InstanceMemoryLabelKey: {memory},
	}
}

func isEC2Size(s string) bool {
	if slices.Contains([]string{"nano", "micro", "small", "medium", "large", "metal"}, s) {
		return true
	}
	number, ok := strings.CutSuffix(s, "xlarge")
	return ok && strings.Trim(number, "0123456789") == ""
}
