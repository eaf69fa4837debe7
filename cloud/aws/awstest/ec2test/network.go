package ec2test

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/vpc"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// reserved is how many addresses of a subnet EC2 keeps for itself.
const reserved = 5

// free counts the addresses that are left in a subnet.
func (e *EC2) free(s *vpc.Subnet) int {
	block, err := netip.ParsePrefix(s.CidrBlock)
	if err != nil {
		return 0
	}
	free := 1<<(32-block.Bits()) - reserved
	for _, i := range e.instances {
		if i.subnet == s.SubnetId && e.state(i) != terminated {
			free -= i.addresses
		}
	}
	return max(free, 0)
}

// address is the next one in a subnet; those of instances that are gone are not used
// again before the block has been gone through.
func (e *EC2) address(s *vpc.Subnet) string {
	block, err := netip.ParsePrefix(s.CidrBlock)
	if err != nil {
		return ""
	}
	n := e.addresses[s.SubnetId] % (1<<(32-block.Bits()) - reserved)
	e.addresses[s.SubnetId]++
	first := block.Masked().Addr().As4()
	number := uint32(first[0])<<24 | uint32(first[1])<<16 | uint32(first[2])<<8 | uint32(first[3])
	number += uint32(n) + reserved - 1
	return netip.AddrFrom4([4]byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)}).String()
}

// described is a subnet as it is now.
func (e *EC2) described(s vpc.Subnet) vpc.Subnet {
	zone, _ := e.network.Zone(s.AvailabilityZone)
	s.AvailabilityZoneId = zone.ID
	s.AvailableIpAddressCount = e.free(&s)
	s.State, s.OwnerId = "available", e.config.Account
	s.SubnetArn = fmt.Sprintf("arn:aws:ec2:%s:%s:subnet/%s", e.config.Region, e.config.Account, s.SubnetId)
	s.Tags = e.tagsOf(s.SubnetId)
	return s
}

var subnetFields = describe.Fields[vpc.Subnet]{
	"subnet-id":            describe.One(func(s vpc.Subnet) string { return s.SubnetId }),
	"vpc-id":               describe.One(func(s vpc.Subnet) string { return s.VpcId }),
	"availability-zone":    describe.One(func(s vpc.Subnet) string { return s.AvailabilityZone }),
	"availability-zone-id": describe.One(func(s vpc.Subnet) string { return s.AvailabilityZoneId }),
	"state":                describe.One(func(s vpc.Subnet) string { return s.State }),
	"owner-id":             describe.One(func(s vpc.Subnet) string { return s.OwnerId }),
}

type describeSubnetsInput struct {
	describe.Query
	SubnetIds []string
}

func describeSubnets(e *EC2, in describeSubnetsInput) (any, error) {
	for _, id := range in.SubnetIds {
		if e.network.Subnet(id) == nil {
			return nil, wire.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
	}
	var out struct {
		Subnets   []vpc.Subnet
		NextToken string
	}
	for _, s := range e.network.Subnets {
		s := e.described(s)
		ok, err := describe.Pass(in.Filters, subnetFields, e.tags[s.SubnetId], s)
		if err != nil {
			return nil, err
		}
		if ok && (len(in.SubnetIds) == 0 || slices.Contains(in.SubnetIds, s.SubnetId)) {
			out.Subnets = append(out.Subnets, s)
		}
	}
	id := func(s vpc.Subnet) string { return s.SubnetId }
	slices.SortFunc(out.Subnets, func(a, b vpc.Subnet) int { return cmp.Compare(id(a), id(b)) })
	var err error
	out.Subnets, out.NextToken, err = describe.Page(out.Subnets, id, in.MaxResults, 5, 1000, in.NextToken)
	return out, err
}

var groupFields = describe.Fields[vpc.SecurityGroup]{
	"group-id":    describe.One(func(g vpc.SecurityGroup) string { return g.GroupId }),
	"group-name":  describe.One(func(g vpc.SecurityGroup) string { return g.GroupName }),
	"vpc-id":      describe.One(func(g vpc.SecurityGroup) string { return g.VpcId }),
	"owner-id":    describe.One(func(g vpc.SecurityGroup) string { return g.OwnerId }),
	"description": describe.One(func(g vpc.SecurityGroup) string { return g.Description }),
}

type describeSecurityGroupsInput struct {
	describe.Query
	GroupIds []string
}

func describeSecurityGroups(e *EC2, in describeSecurityGroupsInput) (any, error) {
	for _, id := range in.GroupIds {
		if e.network.Group(id) == nil {
			return nil, wire.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
	}
	var out struct {
		SecurityGroups []vpc.SecurityGroup
		NextToken      string
	}
	for _, g := range e.network.SecurityGroups {
		g.OwnerId, g.Tags = e.config.Account, e.tagsOf(g.GroupId)
		ok, err := describe.Pass(in.Filters, groupFields, e.tags[g.GroupId], g)
		if err != nil {
			return nil, err
		}
		if ok && (len(in.GroupIds) == 0 || slices.Contains(in.GroupIds, g.GroupId)) {
			out.SecurityGroups = append(out.SecurityGroups, g)
		}
	}
	id := func(g vpc.SecurityGroup) string { return g.GroupId }
	slices.SortFunc(out.SecurityGroups, func(a, b vpc.SecurityGroup) int { return cmp.Compare(id(a), id(b)) })
	var err error
	out.SecurityGroups, out.NextToken, err = describe.Page(out.SecurityGroups, id, in.MaxResults, 5, 1000, in.NextToken)
	return out, err
}

type availabilityZone struct {
	ZoneName, ZoneId, RegionName, GroupName, NetworkBorderGroup string
	State, OptInStatus, ZoneType                                string
}

var zoneFields = describe.Fields[availabilityZone]{
	"zone-name":     describe.One(func(z availabilityZone) string { return z.ZoneName }),
	"zone-id":       describe.One(func(z availabilityZone) string { return z.ZoneId }),
	"zone-type":     describe.One(func(z availabilityZone) string { return z.ZoneType }),
	"region-name":   describe.One(func(z availabilityZone) string { return z.RegionName }),
	"state":         describe.One(func(z availabilityZone) string { return z.State }),
	"opt-in-status": describe.One(func(z availabilityZone) string { return z.OptInStatus }),
}

type describeAvailabilityZonesInput struct {
	Filters            []describe.Filter
	ZoneNames, ZoneIds []string
}

func describeAvailabilityZones(e *EC2, in describeAvailabilityZonesInput) (any, error) {
	for _, name := range slices.Concat(in.ZoneNames, in.ZoneIds) {
		if _, ok := e.network.Zone(name); !ok {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
	}
	var out struct{ AvailabilityZones []availabilityZone }
	for _, zone := range e.network.Zones {
		z := availabilityZone{
			ZoneName: zone.Name, ZoneId: zone.ID, RegionName: e.config.Region, GroupName: e.config.Region, NetworkBorderGroup: e.config.Region,
			State: "available", OptInStatus: "opt-in-not-required", ZoneType: "availability-zone",
		}
		ok, err := describe.Pass(in.Filters, zoneFields, nil, z)
		if err != nil {
			return nil, err
		}
		named := slices.Contains(in.ZoneNames, zone.Name) || slices.Contains(in.ZoneIds, zone.ID)
		if ok && (named || len(in.ZoneNames)+len(in.ZoneIds) == 0) {
			out.AvailabilityZones = append(out.AvailabilityZones, z)
		}
	}
	return out, nil
}
