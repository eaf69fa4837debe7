// Package vpc is the network of an account: its zones, subnets and security groups.
package vpc

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/tagging"
)

// Network is where instances can be.
type Network struct {
	Zones          []Zone
	Subnets        []Subnet
	SecurityGroups []SecurityGroup
}

// Zone is an availability zone: us-east-1a and use1-az1.
type Zone struct{ Name, ID string }

// Subnet is one. Fields left empty are filled in.
type Subnet struct {
	SubnetId, VpcId, AvailabilityZone, AvailabilityZoneId string
	CidrBlock                                             string
	// AvailableIpAddressCount follows from the block and the instances.
	AvailableIpAddressCount int
	MapPublicIpOnLaunch     bool
	State, OwnerId          string
	SubnetArn               string
	Tags                    []tagging.Tag
}

// SecurityGroup is one. Its rules play no part.
type SecurityGroup struct {
	GroupId, GroupName, VpcId, Description, OwnerId string
	Tags                                            []tagging.Tag
}

// Default is a VPC over zones a, b and c of a region, with one private subnet of
// 8,187 addresses in each and one security group, all tagged
// karpenter.sh/discovery=CLUSTER and kubernetes.io/cluster/CLUSTER=owned.
func Default(region, cluster string) Network {
	tags := tagging.Of(map[string]string{"karpenter.sh/discovery": cluster, "kubernetes.io/cluster/" + cluster: "owned"})
	n := Network{SecurityGroups: []SecurityGroup{{GroupId: "sg-0000000000000000a", GroupName: cluster + "-node", VpcId: "vpc-0000000000000000a", Description: "nodes", Tags: tags}}}
	for i, letter := range "abc" {
		zone := Zone{Name: region + string(letter), ID: fmt.Sprintf("%s-az%d", shortRegion(region), i+1)}
		n.Zones = append(n.Zones, zone)
		n.Subnets = append(n.Subnets, Subnet{
			SubnetId: "subnet-0000000000000000" + string(letter), VpcId: "vpc-0000000000000000a",
			AvailabilityZone: zone.Name, CidrBlock: fmt.Sprintf("10.0.%d.0/19", 32*i), Tags: tags,
		})
	}
	return n
}

// shortRegion is us-east-1 as zone IDs have it, use1.
func shortRegion(region string) string {
	var out []byte
	for i := range len(region) {
		if i == 0 || i == 1 || region[i-1] == '-' {
			out = append(out, region[i])
		}
	}
	return string(out)
}

// Zone finds one by its name or its ID.
func (n Network) Zone(name string) (Zone, bool) {
	i := slices.IndexFunc(n.Zones, func(z Zone) bool { return z.Name == name || z.ID == name })
	if i < 0 {
		return Zone{}, false
	}
	return n.Zones[i], true
}

// Subnet finds one, nil if there is none.
func (n Network) Subnet(id string) *Subnet {
	i := slices.IndexFunc(n.Subnets, func(s Subnet) bool { return s.SubnetId == id })
	if i < 0 {
		return nil
	}
	return &n.Subnets[i]
}

// Group finds a security group, nil if there is none.
func (n Network) Group(id string) *SecurityGroup {
	i := slices.IndexFunc(n.SecurityGroups, func(g SecurityGroup) bool { return g.GroupId == id })
	if i < 0 {
		return nil
	}
	return &n.SecurityGroups[i]
}

// Remove takes a subnet or security group away.
func (n *Network) Remove(id string) {
	n.Subnets = slices.DeleteFunc(slices.Clone(n.Subnets), func(s Subnet) bool { return s.SubnetId == id })
	n.SecurityGroups = slices.DeleteFunc(slices.Clone(n.SecurityGroups), func(g SecurityGroup) bool { return g.GroupId == id })
}
