package ec2test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/tagging"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/vpc"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/typeinfo"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// launch is what an instance is made of: template, override and request laid over each other.
type launch struct {
	ImageId, InstanceType, UserData string
	SubnetId                        string
	SecurityGroupIds                []string
	IamInstanceProfile              struct{ Arn, Name string }
	NetworkInterfaces               []interfaceSpec
	Placement                       placement
	InstanceMarketOptions           struct{ MarketType string }
	MetadataOptions                 map[string]any
	Monitoring, EnclaveOptions      struct{ Enabled bool }
	TagSpecifications               []tagging.Specification
	BlockDeviceMappings             []blockDevice

	CapacityReservationSpecification reserve.Spec
}

type placement struct {
	AvailabilityZone, AvailabilityZoneId, Tenancy, GroupId, GroupName string
	PartitionNumber                                                   *int
}

type interfaceSpec struct {
	DeviceIndex, NetworkCardIndex int
	SubnetId, InterfaceType       string
	Groups                        []string
	AssociatePublicIpAddress      bool

	Ipv4PrefixCount, Ipv6AddressCount, Ipv6PrefixCount int
}

// from reads the data of a template's version.
func (e *EC2) from(s templateSpecification) (launch, int, error) {
	t, err := e.find(s)
	if err != nil {
		return launch{}, 0, err
	}
	n, err := t.version(s.Version)
	if err != nil {
		return launch{}, 0, err
	}
	var l launch
	return l, n, wire.Bind(t.versions[n-1].data, &l)
}

// addresses is how many of its subnet's an instance takes.
func (l *launch) addresses() int {
	n := 0
	for _, i := range l.NetworkInterfaces {
		if i.InterfaceType != "efa-only" {
			n += 1 + 16*i.Ipv4PrefixCount
		}
	}
	return max(n, 1)
}

func (l *launch) groups() []string {
	groups := slices.Clone(l.SecurityGroupIds)
	for _, i := range l.NetworkInterfaces {
		for _, g := range i.Groups {
			if !slices.Contains(groups, g) {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// settle finds the subnet, and checks what EC2 checks before it looks for capacity.
func (e *EC2) settle(l *launch) (*vpc.Subnet, error) {
	t := e.types[l.InstanceType]
	if t == nil {
		return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", l.InstanceType)
	}
	image := e.images[l.ImageId]
	switch {
	case l.ImageId == "":
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter ImageId")
	case !strings.HasPrefix(l.ImageId, "ami-"):
		return nil, wire.Errorf("InvalidAMIID.Malformed", "Invalid id: %q (expecting \"ami-...\")", l.ImageId)
	case image == nil:
		return nil, wire.Errorf("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", l.ImageId)
	case image.Architecture != typeinfo.Architecture(t):
		return nil, wire.Errorf("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI.", typeinfo.Architecture(t), image.Architecture)
	}
	if err := l.attachable(t); err != nil {
		return nil, err
	}
	if l.UserData != "" {
		if err := checkUserData(l.UserData); err != nil {
			return nil, err
		}
	}
	subnet, err := e.place(l)
	if err != nil {
		return nil, err
	}
	for _, id := range l.groups() {
		g := e.network.Group(id)
		if g == nil {
			return nil, wire.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
		if g.VpcId != subnet.VpcId {
			return nil, wire.Errorf("InvalidParameter", "Security group %s and subnet %s belong to different networks.", id, subnet.SubnetId)
		}
	}
	for _, profile := range []string{l.IamInstanceProfile.Name, l.IamInstanceProfile.Arn} {
		if profile != "" && e.config.Profile != nil && !e.config.Profile(profile) {
			return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", profile)
		}
	}
	return subnet, nil
}

// attachable says which of the interfaces the type has no place for.
func (l *launch) attachable(t *ec2.Type) error {
	fabric := int64(0)
	for _, i := range l.NetworkInterfaces {
		adapter := strings.HasPrefix(i.InterfaceType, "efa")
		if adapter {
			fabric++
		}
		switch cards := t.NetworkCards; {
		case i.AssociatePublicIpAddress && len(l.NetworkInterfaces) > 1:
			return wire.Errorf("InvalidParameterCombination", "The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
		case i.Ipv6AddressCount > 0 && i.Ipv6PrefixCount > 0:
			return wire.Errorf("InvalidParameterValue", "You can specify one and only one of ipv6Address or ipv6AddressCount or ipv6Prefix or ipv6PrefixCount in interfaces to create.")
		case i.NetworkCardIndex >= len(cards) || int64(i.DeviceIndex) >= cards[i.NetworkCardIndex]:
			return wire.Errorf("InvalidParameterValue", "The specified number '%d' for the device index exceeds the maximum number of network interfaces supported by the network card at network card index %d.", i.DeviceIndex, i.NetworkCardIndex)
		case fabric > t.EFAs, adapter && i.NetworkCardIndex == 0 && t.EFAs < int64(len(cards)):
			return wire.Errorf("InvalidParameterCombination", "Interface type '%s' is not supported at network card index %d of instance type %s.", i.InterfaceType, i.NetworkCardIndex, t.Name)
		}
	}
	return nil
}

// place finds the subnet that a launch is for.
func (e *EC2) place(l *launch) (*vpc.Subnet, error) {
	id := l.SubnetId
	for _, i := range l.NetworkInterfaces {
		if i.SubnetId != "" && i.DeviceIndex == 0 && i.NetworkCardIndex == 0 {
			id = i.SubnetId
		}
	}
	zone := l.Placement.AvailabilityZone
	if zone == "" {
		zone = l.Placement.AvailabilityZoneId
	}
	if id != "" {
		subnet := e.network.Subnet(id)
		if subnet == nil {
			return nil, wire.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
		if z, ok := e.network.Zone(subnet.AvailabilityZone); zone != "" && (!ok || z.Name != zone && z.ID != zone) {
			return nil, wire.Errorf("InvalidParameterValue", "The subnet '%s' is not in the availability zone '%s'", id, zone)
		}
		return subnet, nil
	}
	for i := range e.network.Subnets {
		s := &e.network.Subnets[i]
		if z, _ := e.network.Zone(s.AvailabilityZone); zone == "" || z.Name == zone || z.ID == zone {
			return s, nil
		}
	}
	return nil, wire.Errorf("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
}

// refuse says why a launch cannot be had now, nil if it can.
func (e *EC2) refuse(l *launch, o Offering, s *vpc.Subnet) error {
	t := e.types[o.Type]
	at := l.Placement
	if err := e.join(&at, o.Zone); err != nil {
		return err
	}
	reserved, err := e.reservation(l, o)
	left, lack := e.left(o)
	switch {
	case err != nil:
		return err
	case o.Spot && !t.Spot:
		return wire.Errorf("InvalidParameterCombination", "Instance type %s is not supported as spot instance", o.Type)
	case left == 0 && reserved == "":
		return lack
	case e.free(s) < l.addresses():
		return wire.Errorf("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", s.SubnetId)
	}
	return nil
}

// given are the tags that a fleet gives to what it makes.
type given struct{ instance, volume []Tag }

// start makes an instance.
func (e *EC2) start(l *launch, o Offering, s *vpc.Subnet, tags given, token string) *instance {
	zone, _ := e.network.Zone(s.AvailabilityZone)
	i := &instance{
		id: e.id("i"), reservation: e.id("r"), launched: e.now(), launch: *l, offering: o, zone: zone,
		subnet: s.SubnetId, vpc: s.VpcId, addresses: l.addresses(), token: token, image: *e.images[l.ImageId],
	}
	_ = e.join(&i.launch.Placement, o.Zone) // refuse had nothing against either
	i.capacityReservation, _ = e.reservation(l, o)
	if o.Spot {
		i.spotRequest = e.id("sir")
	}
	specs := l.NetworkInterfaces
	if len(specs) == 0 {
		specs = []interfaceSpec{{Groups: l.SecurityGroupIds}}
	}
	for _, spec := range specs {
		i.interfaces = append(i.interfaces, e.attach(i, spec, s))
	}
	i.states = []change{{e.now(), pending, "", ""}, {e.now().Add(e.delays.Boot), running, "", ""}}
	e.instances[i.id] = i
	e.tag(i.id, slices.Concat(tagging.For(l.TagSpecifications, "instance"), tags.instance))
	e.devices(i, slices.Concat(tagging.For(l.TagSpecifications, "volume"), tags.volume))
	return i
}

func (e *EC2) attach(i *instance, spec interfaceSpec, s *vpc.Subnet) networkInterface {
	n := networkInterface{
		NetworkInterfaceId: e.id("eni"), SubnetId: s.SubnetId, VpcId: s.VpcId, OwnerId: e.config.Account,
		Status: "in-use", InterfaceType: "interface", SourceDestCheck: true,
		Groups: e.groupNames(spec.Groups),
	}
	if spec.InterfaceType != "" {
		n.InterfaceType = spec.InterfaceType
	}
	if n.InterfaceType != "efa-only" {
		n.PrivateIpAddress = e.address(s)
	}
	n.Attachment.DeviceIndex, n.Attachment.NetworkCardIndex = spec.DeviceIndex, spec.NetworkCardIndex
	n.Attachment.AttachTime, n.Attachment.DeleteOnTermination, n.Attachment.Status = i.launched, true, "attached"
	return n
}

func (e *EC2) groupNames(ids []string) []groupName {
	var out []groupName
	for _, id := range ids {
		if g := e.network.Group(id); g != nil {
			out = append(out, groupName{g.GroupId, g.GroupName})
		}
	}
	return out
}

// dnsName is the private one of an address.
func (e *EC2) dnsName(address string) string {
	if _, err := netip.ParseAddr(address); err != nil {
		return ""
	}
	domain := e.config.Region + ".compute.internal"
	if e.config.Region == "us-east-1" {
		domain = "ec2.internal"
	}
	return fmt.Sprintf("ip-%s.%s", strings.ReplaceAll(address, ".", "-"), domain)
}
