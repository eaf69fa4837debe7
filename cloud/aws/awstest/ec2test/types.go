package ec2test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// EC2's answer about an instance type, as far as package cloud/ec2 knows it.
type instanceTypeInfo struct {
	InstanceType                 string
	CurrentGeneration            bool
	FreeTierEligible             bool
	BareMetal                    bool
	Hypervisor                   string
	SupportedUsageClasses        []string
	SupportedRootDeviceTypes     []string
	SupportedVirtualizationTypes []string
	SupportedBootModes           []string
	ProcessorInfo                processorInfo
	VCpuInfo                     struct{ DefaultVCpus int64 }
	MemoryInfo                   memoryInfo
	InstanceStorageSupported     bool
	InstanceStorageInfo          *instanceStorageInfo
	EbsInfo                      ebsInfo
	NetworkInfo                  networkInfo
	GpuInfo                      *gpuInfo
	NeuronInfo                   *neuronInfo
	InferenceAcceleratorInfo     *inferenceInfo
	PlacementGroupInfo           struct{ SupportedStrategies []string }
	NitroEnclavesSupport         string
}

type processorInfo struct {
	SupportedArchitectures []string
	Manufacturer           string
}

type memoryInfo struct{ SizeInMiB int64 }

type instanceStorageInfo struct {
	TotalSizeInGB                  int64
	Disks                          []disk
	NvmeSupport, EncryptionSupport string
}

type disk struct {
	SizeInGB, Count int64
	Type            string
}

type ebsInfo struct{ EbsOptimizedSupport, EncryptionSupport, NvmeSupport string }

type networkInfo struct {
	NetworkPerformance                            string
	MaximumNetworkInterfaces, MaximumNetworkCards int64
	DefaultNetworkCardIndex                       int64
	NetworkCards                                  []networkCard
	Ipv4AddressesPerInterface                     int64
	Ipv6AddressesPerInterface                     int64
	Ipv6Supported, EfaSupported                   bool
	EnaSupport                                    string
	EfaInfo                                       *efaInfo
	EncryptionInTransitSupported                  bool
}

type networkCard struct {
	NetworkCardIndex, MaximumNetworkInterfaces int64
	NetworkPerformance                         string
}

type efaInfo struct{ MaximumEfaInterfaces int64 }

type gpuInfo struct {
	Gpus                []gpu
	TotalGpuMemoryInMiB int64
}

type gpu struct {
	Name, Manufacturer string
	Count              int64
	MemoryInfo         memoryInfo
}

type neuronInfo struct {
	NeuronDevices                []neuronDevice
	TotalNeuronDeviceMemoryInMiB int64
}

type neuronDevice struct {
	Name       string
	Count      int64
	CoreInfo   struct{ Count int64 }
	MemoryInfo memoryInfo
}

type inferenceInfo struct{ Accelerators []inferenceDevice }

type inferenceDevice struct {
	Name, Manufacturer string
	Count              int64
}

var makers = map[string]string{"intel": "Intel", "amd": "AMD", "aws": "AWS", "nvidia": "NVIDIA"}

// chip is the name of an accelerator as EC2 writes it; of it only the letters count that
// a label keeps.
func chip(name string) string {
	if strings.HasPrefix(name, "radeon") || strings.HasPrefix(name, "inferentia") || strings.HasPrefix(name, "trainium") {
		words := strings.Split(name, "-")
		for i, w := range words {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
		return strings.Join(words, " ")
	}
	return strings.ToUpper(strings.ReplaceAll(name, "-", " "))
}

// architecture in EC2's words.
func architecture(t *ec2.Type) string {
	if t.Arch() == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

func info(t *ec2.Type) instanceTypeInfo {
	out := instanceTypeInfo{
		InstanceType: t.Name, CurrentGeneration: true, Hypervisor: t.Hypervisor,
		SupportedUsageClasses: []string{"on-demand"}, SupportedRootDeviceTypes: []string{"ebs"},
		SupportedVirtualizationTypes: []string{"hvm"}, SupportedBootModes: []string{"uefi"},
		ProcessorInfo:            processorInfo{[]string{architecture(t)}, makers[t.Maker]},
		MemoryInfo:               memoryInfo{t.MemoryMiB},
		InstanceStorageSupported: t.NVMeGB > 0,
		EbsInfo:                  ebsInfo{"default", "supported", "required"},
		NetworkInfo:              interfaces(t),
		NitroEnclavesSupport:     "unsupported",
	}
	out.VCpuInfo.DefaultVCpus = t.VCPUs
	out.PlacementGroupInfo.SupportedStrategies = []string{"cluster", "partition", "spread"}
	if t.Spot {
		out.SupportedUsageClasses = append(out.SupportedUsageClasses, "spot")
	}
	if t.Hypervisor == "xen" {
		out.EbsInfo.NvmeSupport = "unsupported"
	}
	if t.NVMeGB > 0 {
		out.InstanceStorageInfo = &instanceStorageInfo{t.NVMeGB, []disk{{t.NVMeGB / t.Disks, t.Disks, "ssd"}}, "required", "required"}
	}
	accelerate(&out, t)
	return out
}

func interfaces(t *ec2.Type) networkInfo {
	out := networkInfo{
		NetworkPerformance:        fmt.Sprintf("%g Gigabit", float64(t.NetworkMbps)/1000),
		MaximumNetworkCards:       int64(len(t.NetworkCards)),
		DefaultNetworkCardIndex:   t.DefaultNetworkCard,
		Ipv4AddressesPerInterface: t.IPv4, Ipv6AddressesPerInterface: t.IPv4, Ipv6Supported: true,
		EfaSupported: t.EFAs > 0, EnaSupport: "required", EncryptionInTransitSupported: t.EncryptsTransit,
	}
	for i, n := range t.NetworkCards {
		out.MaximumNetworkInterfaces += n
		out.NetworkCards = append(out.NetworkCards, networkCard{int64(i), n, out.NetworkPerformance})
	}
	if t.EFAs > 0 {
		out.EfaInfo = &efaInfo{t.EFAs}
	}
	return out
}

func accelerate(out *instanceTypeInfo, t *ec2.Type) {
	memory := t.Accelerators * t.AcceleratorMiB
	switch {
	case t.Accelerators == 0:
	case t.Neuron():
		device := neuronDevice{Name: chip(t.Accelerator), Count: t.Accelerators, MemoryInfo: memoryInfo{t.AcceleratorMiB}}
		device.CoreInfo.Count = t.CoresPerNeuron()
		out.NeuronInfo = &neuronInfo{[]neuronDevice{device}, memory}
		if t.Accelerator == "inferentia" {
			out.InferenceAcceleratorInfo = &inferenceInfo{[]inferenceDevice{{chip(t.Accelerator), "AWS", t.Accelerators}}}
		}
	default:
		out.GpuInfo = &gpuInfo{[]gpu{{chip(t.Accelerator), makers[t.GPUMaker()], t.Accelerators, memoryInfo{t.AcceleratorMiB}}}, memory}
	}
}

var typeFields = fields[instanceTypeInfo]{
	"instance-type":                         one(func(t instanceTypeInfo) string { return t.InstanceType }),
	"current-generation":                    one(func(t instanceTypeInfo) string { return yesNo(t.CurrentGeneration) }),
	"bare-metal":                            one(func(t instanceTypeInfo) string { return yesNo(t.BareMetal) }),
	"hypervisor":                            one(func(t instanceTypeInfo) string { return t.Hypervisor }),
	"instance-storage-supported":            one(func(t instanceTypeInfo) string { return yesNo(t.InstanceStorageSupported) }),
	"supported-virtualization-type":         func(t instanceTypeInfo) []string { return t.SupportedVirtualizationTypes },
	"supported-usage-class":                 func(t instanceTypeInfo) []string { return t.SupportedUsageClasses },
	"supported-root-device-type":            func(t instanceTypeInfo) []string { return t.SupportedRootDeviceTypes },
	"processor-info.supported-architecture": func(t instanceTypeInfo) []string { return t.ProcessorInfo.SupportedArchitectures },
	"vcpu-info.default-vcpus":               one(func(t instanceTypeInfo) string { return fmt.Sprint(t.VCpuInfo.DefaultVCpus) }),
	"memory-info.size-in-mib":               one(func(t instanceTypeInfo) string { return fmt.Sprint(t.MemoryInfo.SizeInMiB) }),
}

type describeInstanceTypesInput struct {
	query
	InstanceTypes []string
}

func describeInstanceTypes(e *EC2, in describeInstanceTypesInput) (any, error) {
	for _, name := range in.InstanceTypes {
		if e.types[name] == nil {
			return nil, wire.Errorf("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", name)
		}
	}
	if len(in.InstanceTypes) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instanceTypes cannot be used with the parameter maxResults")
	}
	var out struct {
		InstanceTypes []instanceTypeInfo
		NextToken     string
	}
	for _, name := range slices.Sorted(maps.Keys(e.types)) {
		t := info(e.types[name])
		ok, err := pass(in.Filters, typeFields, nil, t)
		if err != nil {
			return nil, err
		}
		if ok && (len(in.InstanceTypes) == 0 || slices.Contains(in.InstanceTypes, name)) {
			out.InstanceTypes = append(out.InstanceTypes, t)
		}
	}
	if len(in.InstanceTypes) == 0 && in.MaxResults == nil {
		most := 100
		in.MaxResults = &most
	}
	var err error
	out.InstanceTypes, out.NextToken, err = page(out.InstanceTypes, func(t instanceTypeInfo) string { return t.InstanceType }, in.MaxResults, 5, 100, in.NextToken)
	return out, err
}

// offering is a type in a place.
type offering struct{ InstanceType, LocationType, Location string }

func (o offering) key() string { return o.InstanceType + "/" + o.Location }

var offeringFields = fields[offering]{
	"instance-type": one(func(o offering) string { return o.InstanceType }),
	"location":      one(func(o offering) string { return o.Location }),
}

type describeInstanceTypeOfferingsInput struct {
	query
	LocationType string
}

func describeInstanceTypeOfferings(e *EC2, in describeInstanceTypeOfferingsInput) (any, error) {
	var out struct {
		InstanceTypeOfferings []offering
		NextToken             string
	}
	kind := cmp.Or(in.LocationType, "region")
	var places []string
	switch kind {
	case "region":
		places = []string{e.config.Region}
	case "availability-zone":
		for _, z := range e.network.Zones {
			places = append(places, z.Name)
		}
	case "availability-zone-id":
		for _, z := range e.network.Zones {
			places = append(places, z.ID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.types)) {
		for _, place := range places {
			o := offering{name, kind, place}
			ok, err := pass(in.Filters, offeringFields, nil, o)
			if err != nil {
				return nil, err
			}
			if ok {
				out.InstanceTypeOfferings = append(out.InstanceTypeOfferings, o)
			}
		}
	}
	// One of c5.large and c5a.large comes first as a key, the other one as a name.
	slices.SortFunc(out.InstanceTypeOfferings, func(a, b offering) int { return cmp.Compare(a.key(), b.key()) })
	var err error
	out.InstanceTypeOfferings, out.NextToken, err = page(out.InstanceTypeOfferings, offering.key, in.MaxResults, 5, 1000, in.NextToken)
	return out, err
}
