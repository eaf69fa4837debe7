package launchtemplate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Machine is what a template's machines have in common besides their EC2NodeClass.
type Machine struct {
	// Pool is the NodePool's name, empty for a claim made by hand.
	Pool string
	// CapacityType is spot, on-demand or reserved.
	CapacityType string
	// Image is the AMI.
	Image string
	// UserData are as they are given to EC2, before they are encoded.
	UserData string
	// Fabric are the slots of fabric adapters, if the pods ask for any and the class lists no
	// interfaces.
	Fabric []instancetype.Slot
	// Tenancy is default or dedicated.
	Tenancy string
	// Group is the placement group's ID, Partition the one in it; zero is any.
	Group     string
	Partition int32
	// Reservation is that which the machines come from, if the capacity type is reserved.
	Reservation *ec2class.CapacityReservation
	// OpenReservations lets it run in an open capacity reservation if it is on-demand.
	OpenReservations bool
	// IPv6 says that pods have addresses of that family.
	IPv6 bool
	// Region is where the machine is launched.
	Region string
}

// Content is a launch template. It is a plain value whose JSON text is its identity.
type Content struct {
	Image, Profile string
	// UserData are encoded.
	UserData   string
	Devices    []*ec2class.BlockDeviceMapping
	Interfaces []Interface
	Metadata   ec2class.MetadataOptions
	Monitoring bool
	Tenancy    string
	Group      string
	Partition  int32
	// Nested is EC2NodeClass spec.cpuOptions.nestedVirtualization.
	Nested string
	// Enclaves enables Nitro Enclaves.
	Enclaves bool `json:",omitempty"`
	// CapacityType is that of the machines; spot requests carry tags of their own.
	CapacityType string
	// Reservation is the ID of the capacity reservation to draw on.
	Reservation string
	// Open lets EC2 run the machines in open capacity reservations. Others that are not reserved
	// leave these alone, as with Karpenter, so that a class's count of them stays right.
	Open bool `json:",omitempty"`
	// Market is capacity-block or interruptible-capacity-reservation; empty is the usual.
	Market string
	// Tags are put on the template, the interfaces and spot requests.
	Tags map[string]string
}

// Interface is a network interface.
type Interface struct {
	instancetype.Slot
	// Type is interface, efa or efa-only; empty is EC2's default.
	Type     string
	Groups   []string
	PublicIP *bool
	// IPv4Prefixes and IPv6Addresses are how many; nil is not asked for.
	IPv4Prefixes, IPv6Addresses *int32
	PrimaryIPv6                 bool
	Tracking                    *ec2class.ConnectionTracking
}

// Name is the template's: the same for the same content.
func (c *Content) Name() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(text)
	return ec2class.LaunchTemplateNamePrefix + "/" + strconv.FormatUint(binary.BigEndian.Uint64(sum[:8]), 10)
}

// New is the template for machines of a class, which must be ready.
func New(class *awsv1.EC2NodeClass, m Machine, cluster string) *Content {
	c := &Content{
		Image: m.Image, Profile: class.Status.InstanceProfile, UserData: base64.StdEncoding.EncodeToString([]byte(m.UserData)),
		Devices: devices(class), Interfaces: interfaces(class, m), Metadata: metadata(class, m.Region),
		Tenancy: m.Tenancy, Group: m.Group, Partition: m.Partition, CapacityType: m.CapacityType,
		Tags: Tags(class, m.Pool, cluster),
	}
	if class.Spec.DetailedMonitoring != nil {
		c.Monitoring = *class.Spec.DetailedMonitoring
	}
	if o := class.Spec.CPUOptions; o != nil && o.NestedVirtualization != nil {
		c.Nested = *o.NestedVirtualization
	}
	if o := class.Later.EnclaveOptions; o != nil {
		c.Enclaves = o.Enabled
	}
	c.Open = m.OpenReservations && m.CapacityType == catalog.OnDemand
	if r := m.Reservation; r != nil && m.CapacityType == catalog.Reserved {
		c.Reservation = r.ID
		switch {
		case r.ReservationType == ec2class.CapacityReservationTypeCapacityBlock:
			c.Market = "capacity-block"
		case r.Interruptible:
			c.Market = "interruptible-capacity-reservation"
		}
	}
	return c
}

// OpenReservations reports whether a class's on-demand machines may run in open capacity reservations;
// if it says nothing of it, what is so otherwise.
func OpenReservations(class *awsv1.EC2NodeClass, otherwise bool) (bool, error) {
	switch text, ok := class.Annotations[awsv1.OpenReservations]; {
	case !ok:
		return otherwise, nil
	case text == "true", text == "false":
		return text == "true", nil
	default:
		return false, fmt.Errorf("metadata.annotations[%s]: %q is neither true nor false", awsv1.OpenReservations, text)
	}
}

// Tags are those that Karpenter puts on what it creates: policies of AWS allow calls by them.
func Tags(class *awsv1.EC2NodeClass, pool, cluster string) map[string]string {
	tags := maps.Clone(class.Spec.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[OwnerTag(cluster)] = "owned"
	tags[ec2class.NodePoolTagKey] = pool
	tags[ec2class.EKSClusterNameTagKey] = cluster
	tags[ec2class.NodeClassTagKey] = class.Name
	return tags
}

// OwnerTag is the key by which things belong to a cluster; its value is owned.
func OwnerTag(cluster string) string { return "kubernetes.io/cluster/" + cluster }

// CheckTags names a tag of the class that is Karpenter's own: of several the first, by key.
func CheckTags(class *awsv1.EC2NodeClass) error {
	for _, key := range slices.Sorted(maps.Keys(class.Spec.Tags)) {
		for _, pattern := range ec2class.RestrictedTagPatterns {
			if pattern.MatchString(key) {
				return fmt.Errorf("spec.tags: %q is set by the controller and cannot be set by the class", key)
			}
		}
	}
	return nil
}

// CheckDevices finds devices without a name of their own, which EC2 refuses, and volumes whose size
// is none: the CRD's pattern admits a unit alone.
func CheckDevices(class *awsv1.EC2NodeClass) error {
	at := map[string]int{}
	for i, d := range class.Spec.BlockDeviceMappings {
		if d.DeviceName == nil || *d.DeviceName == "" {
			return fmt.Errorf("spec.blockDeviceMappings[%d].deviceName: EC2 needs one, such as /dev/xvda", i)
		}
		if first, ok := at[*d.DeviceName]; ok {
			return fmt.Errorf("spec.blockDeviceMappings[%d].deviceName: %s is that of spec.blockDeviceMappings[%d], too", i, *d.DeviceName, first)
		}
		at[*d.DeviceName] = i
		if d.EBS != nil && d.EBS.VolumeSize != nil && d.EBS.VolumeSize.Sign() <= 0 {
			return fmt.Errorf("spec.blockDeviceMappings[%d].ebs.volumeSize: %s is no size", i, d.EBS.VolumeSize)
		}
	}
	return nil
}

// devices are the class's, or those that images of the family need.
func devices(class *awsv1.EC2NodeClass) []*ec2class.BlockDeviceMapping {
	if len(class.Spec.BlockDeviceMappings) > 0 {
		return class.Spec.BlockDeviceMappings
	}
	switch class.AMIFamily() {
	case ec2class.AMIFamilyAL2, ec2class.AMIFamilyAL2023:
		return []*ec2class.BlockDeviceMapping{device("/dev/xvda", "20Gi")}
	case ec2class.AMIFamilyBottlerocket:
		return []*ec2class.BlockDeviceMapping{device("/dev/xvda", "4Gi"), device("/dev/xvdb", "20Gi")}
	case ec2class.AMIFamilyWindows2019, ec2class.AMIFamilyWindows2022, ec2class.AMIFamilyWindows2025:
		return []*ec2class.BlockDeviceMapping{device("/dev/sda1", "50Gi")}
	}
	return nil
}

func device(name, size string) *ec2class.BlockDeviceMapping {
	encrypted, kind, q := true, "gp3", resource.MustParse(size)
	return &ec2class.BlockDeviceMapping{DeviceName: &name, EBS: &ec2class.BlockDevice{Encrypted: &encrypted, VolumeType: &kind, VolumeSize: &q}}
}

// metadata are the class's options, with the defaults of the CRD for what it does not say.
// Isolated regions do not know the option for IPv6.
func metadata(class *awsv1.EC2NodeClass, region string) ec2class.MetadataOptions {
	endpoint, ipv6, hops, tokens := "enabled", "disabled", int64(1), "required"
	out := ec2class.MetadataOptions{HTTPEndpoint: &endpoint, HTTPProtocolIPv6: &ipv6, HTTPPutResponseHopLimit: &hops, HTTPTokens: &tokens}
	if own := class.Spec.MetadataOptions; own != nil {
		fill(&out.HTTPEndpoint, own.HTTPEndpoint)
		fill(&out.HTTPProtocolIPv6, own.HTTPProtocolIPv6)
		fill(&out.HTTPPutResponseHopLimit, own.HTTPPutResponseHopLimit)
		fill(&out.HTTPTokens, own.HTTPTokens)
	}
	if strings.Contains(region, "-iso") {
		out.HTTPProtocolIPv6 = nil
	}
	return out
}

func fill[T any](into **T, value *T) {
	if value != nil {
		*into = value
	}
}

// interfaces are those that the class lists, or the primary one and the fabric adapters that are
// asked for, of which it may be one. They are always spelled out: security groups and public
// addresses belong to them.
func interfaces(class *awsv1.EC2NodeClass, m Machine) []Interface {
	full := Interface{PublicIP: class.Spec.AssociatePublicIPAddress, Tracking: class.Spec.ConnectionTracking}
	for _, g := range class.Status.SecurityGroups {
		full.Groups = append(full.Groups, g.ID)
	}
	if m.IPv6 { // EC2 gives either an address, which the Node needs, or prefixes
		one := int32(1)
		full.PrimaryIPv6, full.IPv6Addresses = true, &one
	} else {
		full.IPv4Prefixes = class.Spec.IPPrefixCount
	}
	var out []Interface
	for _, n := range class.Spec.NetworkInterfaces {
		i := full
		if n.InterfaceType == ec2class.InterfaceTypeEFAOnly {
			i = Interface{Groups: full.Groups}
		}
		i.Slot, i.Type = instancetype.Slot{Card: n.NetworkCardIndex, Device: n.DeviceIndex}, string(n.InterfaceType)
		out = append(out, i)
	}
	if len(out) > 0 {
		return out
	}
	if primary := full; !slices.Contains(m.Fabric, primary.Slot) {
		out = append(out, primary)
	}
	for _, slot := range m.Fabric {
		i := full
		i.Slot, i.Type = slot, "efa"
		out = append(out, i)
	}
	return out
}
