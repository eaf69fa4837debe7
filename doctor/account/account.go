package account

import (
	"fmt"
	"slices"
	"strings"

	ec2v1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Account is what is known of a cloud account that EC2NodeClasses draw on. What is not known is
// empty, and no check takes offence at it.
type Account struct {
	Subnets        []Subnet
	SecurityGroups []SecurityGroup
	Roles          []Role
	Profiles       []Profile
	Reservations   []Reservation
	// AllRoles says that there are no other roles, AllProfiles that no other profile has one.
	AllRoles, AllProfiles bool
	// Denied are the actions that a simulation refused to a principal.
	Denied []Denial
}

// Subnet is one of EC2.
type Subnet struct {
	ID, Zone string
	// Free is how many addresses are left in it.
	Free int
	Tags map[string]string
}

// SecurityGroup is one of EC2.
type SecurityGroup struct {
	ID, Name string
	Tags     map[string]string
}

// Role is one of IAM.
type Role struct {
	Name string
	// Trusts are the services that may take the role; nil if that is not known.
	Trusts []string
	// Policies are the names of AWS's own policies that are attached; nil if they are not known.
	// Others says that it has further ones, which are not looked into.
	Policies []string
	Others   bool

	// Attach and Trust are the fixes, in the form that the role is kept in.
	Attach func(policies []string) *finding.Fix
	Trust  func(service string) *finding.Fix
}

// Profile is an instance profile of IAM.
type Profile struct {
	Name  string
	Roles []string
}

// Denial is an action that a principal may not call, on a resource.
type Denial struct {
	Action, Resource string
	// Explicit says that a statement denies it; else none allows it.
	Explicit bool
}

func (d Denial) ref() plan.ObjectRef { return plan.ObjectRef{Kind: "Permission", Name: d.Action} }

// Merge adds what another account tells.
func (a *Account) Merge(b Account) {
	a.Subnets, a.SecurityGroups = append(a.Subnets, b.Subnets...), append(a.SecurityGroups, b.SecurityGroups...)
	a.Roles, a.Profiles = append(a.Roles, b.Roles...), append(a.Profiles, b.Profiles...)
	a.Reservations = append(a.Reservations, b.Reservations...)
	a.AllRoles, a.AllProfiles = a.AllRoles || b.AllRoles, a.AllProfiles || b.AllProfiles
	a.Denied = append(a.Denied, b.Denied...)
}

// tagged reports whether tags are all that a term asks for; "*" is any value.
func tagged(tags, wanted map[string]string) bool {
	for key, value := range wanted {
		if has, ok := tags[key]; !ok || value != "*" && has != value {
			return false
		}
	}
	return true
}

// subnets are those that a class selects.
func (a *Account) subnets(c *awsv1.EC2NodeClass) []Subnet {
	return slices.DeleteFunc(slices.Clone(a.Subnets), func(s Subnet) bool {
		return !slices.ContainsFunc(c.Spec.SubnetSelectorTerms, func(t ec2v1.SubnetSelectorTerm) bool {
			return (t.ID == "" || t.ID == s.ID) && tagged(s.Tags, t.Tags)
		})
	})
}

// groups are the security groups that a class selects.
func (a *Account) groups(c *awsv1.EC2NodeClass) []SecurityGroup {
	return slices.DeleteFunc(slices.Clone(a.SecurityGroups), func(g SecurityGroup) bool {
		return !slices.ContainsFunc(c.Spec.SecurityGroupSelectorTerms, func(t ec2v1.SecurityGroupSelectorTerm) bool {
			return (t.ID == "" || t.ID == g.ID) && (t.Name == "" || t.Name == g.Name) && tagged(g.Tags, t.Tags)
		})
	})
}

// fewAddresses are about those that one node takes by the defaults of the VPC CNI: an interface
// and a warm one, of 15 addresses each on a machine of 4 vCPUs.
const fewAddresses = 32

// SubnetsNearlyFull have too few addresses left for the nodes of a class.
func SubnetsNearlyFull(a *Account, classes []*awsv1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		for _, s := range a.subnets(c) {
			if s.Free >= fewAddresses {
				continue
			}
			out = append(out, finding.Finding{
				Severity: finding.Warning, Object: classRef(c), Field: "spec.subnetSelectorTerms",
				Message: fmt.Sprintf("select %s in %s, which has %d addresses left: launches there fail (InsufficientFreeAddressesInSubnet), or pods of new nodes get no address", s.ID, s.Zone, s.Free),
				Advice:  "add a subnet of a secondary CIDR block to the zone and let the terms select it; a subnet cannot grow",
			})
		}
	}
	return out
}

// ClassesThatSelectNothing name subnets or security groups that are not among those that are
// known.
func ClassesThatSelectNothing(a *Account, classes []*awsv1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		add := func(field, what string) {
			out = append(out, finding.Finding{
				Severity: finding.Error, Object: classRef(c), Field: field,
				Message: fmt.Sprintf("select none of the %s of the account: nothing is launched of the class", what),
				Advice:  "name an ID, or tags that they have",
			})
		}
		if len(a.Subnets) > 0 && len(a.subnets(c)) == 0 {
			add("spec.subnetSelectorTerms", "subnets")
		}
		if len(a.SecurityGroups) > 0 && len(a.groups(c)) == 0 {
			add("spec.securityGroupSelectorTerms", "security groups")
		}
	}
	return out
}

// AmbiguousGroups are security groups of one machine that a load balancer controller cannot tell
// apart.
func AmbiguousGroups(a *Account, classes []*awsv1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		var owned []string
		for _, g := range a.groups(c) {
			for key := range g.Tags {
				if strings.HasPrefix(key, "kubernetes.io/cluster/") && !slices.Contains(owned, g.ID) {
					owned = append(owned, g.ID)
				}
			}
		}
		if len(owned) < 2 {
			continue
		}
		slices.Sort(owned)
		out = append(out, finding.Finding{
			Severity: finding.Warning, Object: classRef(c), Field: "spec.securityGroupSelectorTerms",
			Message: fmt.Sprintf("select %s, which all have a tag kubernetes.io/cluster/…: the load balancer controller wants one such group on a machine, and registers no targets on these", strings.Join(owned, " and ")),
			Advice:  "select one of them, or take the tag off the others",
			Patch:   &finding.Patch{Object: classRef(c), Steps: []finding.Step{{Op: "replace", Path: "/spec/securityGroupSelectorTerms", Value: []any{map[string]any{"id": owned[0]}}}}},
		})
	}
	return out
}

func classRef(c *awsv1.EC2NodeClass) plan.ObjectRef {
	return plan.ObjectRef{Kind: "EC2NodeClass", Name: c.Name}
}
