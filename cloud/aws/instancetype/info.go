package instancetype

import (
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cloud/ec2"
)

// Info is what EC2 says about an instance type. Zero is "not known", or none.
type Info struct {
	Name string
	// Arch is amd64 or arm64. Maker is that of the processor: intel, amd, aws.
	Arch, Maker      string
	VCPUs, MemoryMiB int64
	// ClockMHz is the sustained clock speed.
	ClockMHz int64
	// Hypervisor is nitro or xen; bare metal has none.
	Hypervisor string
	BareMetal  bool
	// Cards are the interfaces that each network card holds, by index; DefaultCard is the
	// one that holds the primary interface. IPv4 is how many addresses one interface has.
	Cards       []int64
	DefaultCard int64
	IPv4        int64
	// NoENA says that the type has no enhanced networking.
	NoENA bool
	// EFAs is how many interfaces can be Elastic Fabric Adapters.
	EFAs            int64
	EncryptsTransit bool
	// NetworkMbps and PodENIs are not EC2's to say: they come from the table.
	NetworkMbps, PodENIs int64
	// EBSMbps is the most that EBS delivers, if the type is EBS-optimized by default.
	EBSMbps int64
	// StoreGB is the instance store; NVMe says that it speaks NVMe.
	StoreGB int64
	NVMe    bool
	// GPUs, Neurons and Inference are the accelerators, one entry for each model.
	GPUs, Neurons, Inference []Device
	// Usages are the usage classes: on-demand, spot, capacity-block.
	Usages []string
	// Strategies are the placement groups' that the type can be in.
	Strategies []string
	// NestedVirtualization says that virtual machines can run on it.
	NestedVirtualization bool
	// Enclaves says that it supports Nitro Enclaves.
	Enclaves bool
	// Volumes is how many EBS volumes pods can have; zero is not known.
	Volumes int64
}

// Device is one model of accelerator.
type Device struct {
	// Name and Maker are EC2's, such as "T4" and "NVIDIA".
	Name, Maker string
	Count       int64
	// MemoryMiB and Cores are of one device.
	MemoryMiB, Cores int64
}

// FromTable is what the built-in table knows of a type. It lacks the placement strategies,
// nested virtualization and Nitro Enclaves.
func FromTable(t *ec2.Type) Info {
	info := Info{
		Name: t.Name, Arch: t.Arch(), Maker: t.Maker, VCPUs: t.VCPUs, MemoryMiB: t.MemoryMiB,
		Hypervisor: t.Hypervisor, Cards: t.NetworkCards, DefaultCard: t.DefaultNetworkCard, IPv4: t.IPv4,
		ClockMHz: t.ClockMHz, EBSMbps: t.EBSMbps, EFAs: t.EFAs, EncryptsTransit: t.EncryptsTransit, StoreGB: t.NVMeGB, NVMe: t.NVMeGB > 0,
		Usages: []string{"on-demand"}, BareMetal: t.BareMetal(),
	}
	if t.Spot {
		info.Usages = append(info.Usages, "spot")
	}
	device := Device{Name: t.Accelerator, Count: t.Accelerators, MemoryMiB: t.AcceleratorMiB}
	switch {
	case t.Neuron():
		device.Maker, device.Cores = "AWS", t.CoresPerNeuron()
		info.Neurons = []Device{device}
	case t.GPUMaker() != "":
		device.Maker = strings.ToUpper(t.GPUMaker())
		info.GPUs = []Device{device}
	}
	info.AddTable(t)
	return info
}

// AddTable adds what DescribeInstanceTypes does not say.
func (i *Info) AddTable(t *ec2.Type) {
	i.NetworkMbps, i.PodENIs, i.Volumes = t.NetworkMbps, t.PodENIs, volumes(t)
}

// volumes is how many EBS volumes pods can have: the EBS CSI driver takes the root volume
// off EC2's limit and, where slots are shared, the second network interface that the VPC
// CNI attaches at once (EC2's figure has already counted the first interface, disks and
// accelerators). On Xen the driver counts 39 slots where EC2 has 40. It never reports less
// than one.
func volumes(t *ec2.Type) int64 {
	const root, secondInterface, xenDifference = 1, 1, 1
	switch {
	case t.EBSLimit == 0:
		return 0
	case t.Hypervisor == "xen":
		return t.EBSLimit - xenDifference - root
	case !t.EBSShared:
		return t.EBSLimit - root
	}
	return max(1, t.EBSLimit-root-secondInterface)
}

// interfaces is how many the default card holds.
func (i *Info) interfaces() int64 {
	if i.DefaultCard < 0 || i.DefaultCard >= int64(len(i.Cards)) {
		return 0
	}
	return i.Cards[i.DefaultCard]
}

func (i *Info) sold(usage string) bool { return slices.Contains(i.Usages, usage) }

// word is a name as a label's value.
func word(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }
