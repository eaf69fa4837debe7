package instancetype

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/expression"
	"github.com/millwright-dev/millwright/cloud/aws/observed"
)

// DefaultMemoryOverhead is the share of a machine's memory that the hypervisor and the
// firmware keep, unless VM_MEMORY_OVERHEAD_PERCENT says another.
const DefaultMemoryOverhead = 0.075

// Settings are those of the process by which Nodes have less than their machines, whatever their
// EC2NodeClass.
type Settings struct {
	// MemoryOverhead is the share of a machine's memory, from 0 to 1, that its Node does not see
	// [VM_MEMORY_OVERHEAD_PERCENT].
	MemoryOverhead float64
	// ReservedENIs are network interfaces of each machine that pods do not get [RESERVED_ENIS].
	ReservedENIs int64
}

// DefaultSettings are those of a process that is told none.
func DefaultSettings() Settings { return Settings{MemoryOverhead: DefaultMemoryOverhead} }

// Check refuses what is not in range; errors name the flags.
func (s Settings) Check() error {
	switch {
	case !(s.MemoryOverhead >= 0 && s.MemoryOverhead < 1):
		return fmt.Errorf("--vm-memory-overhead-percent: must be a share from 0 to 1, such as 0.075, not %g", s.MemoryOverhead)
	case s.ReservedENIs < 0:
		return fmt.Errorf("--reserved-enis: must not be negative, not %d", s.ReservedENIs)
	}
	return nil
}

// Class is how machines are configured: by an EC2NodeClass, and by the settings of the
// process.
type Class struct {
	// Region is where the machines are, such as eu-west-1.
	Region string
	// Family is that of the images, as EC2NodeClass calls it.
	Family string
	// Kubelet is spec.kubelet, nil if it says nothing.
	Kubelet *ec2class.KubeletConfiguration
	// LaterKubelet is what of spec.kubelet releases of Karpenter after 1.14 have added.
	LaterKubelet map[string]json.RawMessage
	// Expressions evaluates those of spec.kubelet; nil refuses a class that has any.
	Expressions *expression.Evaluator
	// Devices are spec.blockDeviceMappings.
	Devices []*ec2class.BlockDeviceMapping
	// RAID0 joins the instance store's disks to hold the kubelet's data.
	RAID0 bool
	// IPv6 says that pods have addresses of that family, Prefixes that interfaces get some of either
	// at launch.
	IPv6, Prefixes bool
	// Interfaces are spec.networkInterfaces, nil if it says nothing.
	Interfaces []*ec2class.NetworkInterface
	// PublicIP asks for a public address, which EC2 gives to machines with one interface alone.
	PublicIP bool
	// ConnectionTracking, NestedVirtualization and Enclaves, Nitro's, are asked for.
	ConnectionTracking, NestedVirtualization, Enclaves bool
	// PlacementStrategy is that of the placement group: cluster, spread or partition; empty
	// without one. PlacementGroup is its ID, Partitions how many it has.
	PlacementStrategy, PlacementGroup string
	Partitions                        int64

	Settings
	// Memory is what a Node of a type was seen to report, in bytes; nil if nothing was
	// observed. It takes the place of the estimate.
	Memory func(typeName string) (int64, bool)
	// Allocatable is what pods could request of Nodes of a type where that was seen to be less
	// than capacity less overhead, the huge pages that Nodes have, and the devices beyond what EC2
	// tells; of a type that was not seen, what is presumed to be lacking. It is nil if nothing was
	// observed.
	Allocatable func(typeName string) (seen corev1.ResourceList, lacking map[corev1.ResourceName]observed.Lack)
}

// ClassOf reads an EC2NodeClass.
func ClassOf(c *awsv1.EC2NodeClass, s Settings) Class {
	out := Class{
		Settings: s,
		Family:   c.AMIFamily(), Kubelet: c.Spec.Kubelet, LaterKubelet: c.Later.Kubelet, Devices: c.Spec.BlockDeviceMappings,
		RAID0:      c.Spec.InstanceStorePolicy != nil && *c.Spec.InstanceStorePolicy == ec2class.InstanceStorePolicyRAID0,
		Interfaces: c.Spec.NetworkInterfaces, PublicIP: c.Spec.AssociatePublicIPAddress != nil && *c.Spec.AssociatePublicIPAddress, ConnectionTracking: c.Spec.ConnectionTracking != nil,
		Prefixes: c.Spec.IPPrefixCount != nil && *c.Spec.IPPrefixCount > 0,
		Enclaves: c.Later.EnclaveOptions != nil && c.Later.EnclaveOptions.Enabled,
	}
	if o := c.Spec.CPUOptions; o != nil && o.NestedVirtualization != nil {
		out.NestedVirtualization = *o.NestedVirtualization == "enabled"
	}
	return out
}

// family is what the images of a family have in common.
type family struct {
	windows string // the build, for Windows
	// eniPods says that pods get addresses of the interfaces; else there are 110.
	eniPods bool
	// eniReserve has kube-reserved follow the interfaces, whatever maxPods says; dense that the image
	// is told maxPods as well, so that a larger one costs nothing.
	eniReserve, dense bool
	// device holds the kubelet's data, and is so many GiB by default; onlyThere whatever the class
	// calls its root volume.
	device    string
	gib       int64
	onlyThere bool
}

var families = map[string]family{
	ec2class.AMIFamilyAL2:          {eniPods: true, eniReserve: true, dense: true, device: "/dev/xvda", gib: 20},
	ec2class.AMIFamilyAL2023:       {eniPods: true, eniReserve: true, dense: true, device: "/dev/xvda", gib: 20},
	ec2class.AMIFamilyBottlerocket: {eniPods: true, device: "/dev/xvdb", gib: 20, onlyThere: true},
	ec2class.AMIFamilyCustom:       {eniPods: true, eniReserve: true, gib: 20},
	ec2class.AMIFamilyWindows2019:  {windows: ec2class.Windows2019Build, device: "/dev/sda1", gib: 50},
	ec2class.AMIFamilyWindows2022:  {windows: ec2class.Windows2022Build, device: "/dev/sda1", gib: 50},
	ec2class.AMIFamilyWindows2025:  {windows: ec2class.Windows2025Build, device: "/dev/sda1", gib: 50},
}

func (c *Class) family() family { return families[c.Family] }

// kubelet is never nil.
func (c *Class) kubelet() *ec2class.KubeletConfiguration {
	if c.Kubelet == nil {
		return &ec2class.KubeletConfiguration{}
	}
	return c.Kubelet
}

// Check names the field of the EC2NodeClass with which no capacity can be worked out, or no
// kubelet starts: of several the first. Errors: ExpressionError, for expressions that none of these
// types, or one of them, has a value for.
func (c *Class) Check(infos []Info) error {
	if _, ok := families[c.Family]; !ok {
		return fmt.Errorf("spec.amiFamily: %q is not a family of images", c.Family)
	}
	if c.IPv6 && c.family().windows != "" {
		return errors.New("spec.amiFamily: pods of this cluster have IPv6 addresses, and on Windows there are none")
	}
	if c.PublicIP && len(c.Interfaces) > 1 {
		return errors.New("spec.associatePublicIPAddress: EC2 gives no public address to a machine with several spec.networkInterfaces")
	}
	if err := c.checkKubelet(); err != nil {
		return fmt.Errorf("spec.kubelet.%w", err)
	}
	if err := c.checkLater(); err != nil {
		return err
	}
	return c.checkExpressions(infos)
}

// Refuses says why machines of a type cannot be had under the class, empty if they can.
func (c *Class) Refuses(i *Info) string {
	switch {
	case c.Family == ec2class.AMIFamilyAL2023 && strings.HasPrefix(i.Name, "a1."):
		return "AL2023 does not run on the first Graviton"
	case c.family().windows != "" && i.Arch != "amd64":
		return "Windows runs on amd64 only"
	case c.PlacementStrategy != "" && !slices.Contains(i.Strategies, c.PlacementStrategy):
		return "it cannot be in a placement group with strategy " + c.PlacementStrategy
	case c.ConnectionTracking && i.Hypervisor != "nitro":
		return "connection tracking needs the Nitro hypervisor"
	case (c.IPv6 || c.Prefixes) && i.Hypervisor == "xen":
		return "prefixes of addresses for pods need the Nitro hypervisor"
	case c.NestedVirtualization && !i.NestedVirtualization:
		return "it has no nested virtualization"
	case c.Enclaves && !i.Enclaves:
		return "it does not support Nitro Enclaves"
	}
	return c.refusesInterfaces(i)
}
