// Package typeinfo says of instance types what DescribeInstanceTypes does.
package typeinfo

import (
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// Info is EC2's answer about an instance type, as far as package cloud/ec2 knows it. Its fields
// have the model's names.
type Info struct {
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
	SupportedArchitectures   []string
	Manufacturer             string
	SustainedClockSpeedInGhz float64
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

type ebsInfo struct {
	EbsOptimizedSupport, EncryptionSupport, NvmeSupport string
	EbsOptimizedInfo                                    *ebsOptimizedInfo
}

type ebsOptimizedInfo struct{ MaximumBandwidthInMbps int64 }

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

// Architecture is a type's in EC2's words.
func Architecture(t *ec2.Type) string {
	if t.Arch() == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

// Of describes a type.
func Of(t *ec2.Type) Info {
	out := Info{
		InstanceType: t.Name, CurrentGeneration: true, Hypervisor: t.Hypervisor, BareMetal: t.BareMetal(),
		SupportedUsageClasses: []string{"on-demand"}, SupportedRootDeviceTypes: []string{"ebs"},
		SupportedVirtualizationTypes: []string{"hvm"}, SupportedBootModes: []string{"uefi"},
		ProcessorInfo:            processorInfo{[]string{Architecture(t)}, makers[t.Maker], float64(t.ClockMHz) / 1000},
		MemoryInfo:               memoryInfo{t.MemoryMiB},
		InstanceStorageSupported: t.NVMeGB > 0,
		EbsInfo:                  ebsInfo{"default", "supported", "required", &ebsOptimizedInfo{t.EBSMbps}},
		NetworkInfo:              interfaces(t),
		NitroEnclavesSupport:     "unsupported",
	}
	out.VCpuInfo.DefaultVCpus = t.VCPUs
	out.PlacementGroupInfo.SupportedStrategies = []string{"cluster", "partition", "spread"}
	if t.Spot {
		out.SupportedUsageClasses = append(out.SupportedUsageClasses, "spot")
	}
	if t.Enclaves {
		out.NitroEnclavesSupport = "supported"
	}
	if t.EBSMbps == 0 {
		out.EbsInfo.EbsOptimizedSupport, out.EbsInfo.EbsOptimizedInfo = "unsupported", nil
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
		NetworkPerformance:        performance(t),
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

// performance is how EC2 words it; of some earlier generations it tells no figure.
func performance(t *ec2.Type) string {
	if t.NetworkMbps == 0 {
		return "Moderate"
	}
	return fmt.Sprintf("%g Gigabit", float64(t.NetworkMbps)/1000)
}

func accelerate(out *Info, t *ec2.Type) {
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

// Fields are what instance types can be filtered by.
var Fields = describe.Fields[Info]{
	"instance-type":                         describe.One(func(t Info) string { return t.InstanceType }),
	"current-generation":                    describe.One(func(t Info) string { return describe.YesNo(t.CurrentGeneration) }),
	"bare-metal":                            describe.One(func(t Info) string { return describe.YesNo(t.BareMetal) }),
	"hypervisor":                            describe.One(func(t Info) string { return t.Hypervisor }),
	"instance-storage-supported":            describe.One(func(t Info) string { return describe.YesNo(t.InstanceStorageSupported) }),
	"supported-virtualization-type":         func(t Info) []string { return t.SupportedVirtualizationTypes },
	"supported-usage-class":                 func(t Info) []string { return t.SupportedUsageClasses },
	"supported-root-device-type":            func(t Info) []string { return t.SupportedRootDeviceTypes },
	"processor-info.supported-architecture": func(t Info) []string { return t.ProcessorInfo.SupportedArchitectures },
	"vcpu-info.default-vcpus":               describe.One(func(t Info) string { return fmt.Sprint(t.VCpuInfo.DefaultVCpus) }),
	"memory-info.size-in-mib":               describe.One(func(t Info) string { return fmt.Sprint(t.MemoryInfo.SizeInMiB) }),
}
