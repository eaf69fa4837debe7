// Package drift says whether a machine is still what its EC2NodeClass asks for.
//
//	class (spec's hash, status) + claim (hash) + machine ──► Find ──► Karpenter's reason, or none
//
// What is not known is no drift: a status that was not worked out, a hash that was computed in
// another way, a class that has no image for the type.
package drift

import (
	"slices"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/api"
)

// The reasons, in Karpenter's words.
const (
	NodeClass           = "NodeClassDrift"
	AMI                 = "AMIDrift"
	SecurityGroup       = "SecurityGroupDrift"
	Subnet              = "SubnetDrift"
	CapacityReservation = "CapacityReservationDrift"
	PlacementGroup      = "PlacementGroupDrift"
)

// View is what is known of one machine and its class.
type View struct {
	Class *awsv1.EC2NodeClass
	// Claim are the annotations of the machine's NodeClaim, nil if it is not known.
	Claim   map[string]string
	Machine *api.Instance
	// Image is what such a machine would be started from now, empty if that is not known.
	Image string
	// Group is the ID of the class's placement group, empty without one.
	Group string
}

// Find is the first reason that holds, empty if none does.
func Find(v View) string {
	for _, rule := range []struct {
		reason string
		holds  func(*View) bool
	}{
		{NodeClass, (*View).rehashed}, {AMI, (*View).image}, {SecurityGroup, (*View).securityGroups},
		{Subnet, (*View).subnet}, {CapacityReservation, (*View).reservation}, {PlacementGroup, (*View).placementGroup},
	} {
		if rule.holds(&v) {
			return rule.reason
		}
	}
	return ""
}

// rehashed compares hashes that were computed in the same way.
func (v *View) rehashed() bool {
	of := func(annotations map[string]string) (hash, version string) {
		return annotations[ec2class.AnnotationEC2NodeClassHash], annotations[ec2class.AnnotationEC2NodeClassHashVersion]
	}
	hash, version := of(v.Class.Annotations)
	launchedFrom, how := of(v.Claim)
	return hash != "" && launchedFrom != "" && version != "" && version == how && hash != launchedFrom
}

// known reports whether a part of the status is what the selectors mean now.
func (v *View) known(condition string) bool {
	return slices.ContainsFunc(v.Class.Status.Conditions, func(c status.Condition) bool {
		return c.Type == condition && c.Status == metav1.ConditionTrue
	})
}

func (v *View) image() bool {
	return v.known(ec2class.ConditionTypeAMIsReady) && v.Image != "" && v.Machine.Image != "" && v.Image != v.Machine.Image
}

func (v *View) securityGroups() bool {
	var want []string
	for _, g := range v.Class.Status.SecurityGroups {
		want = append(want, g.ID)
	}
	slices.Sort(want)
	have := slices.Sorted(slices.Values(v.Machine.SecurityGroups))
	return v.known(ec2class.ConditionTypeSecurityGroupsReady) && len(want) > 0 && len(have) > 0 && !slices.Equal(want, slices.Compact(have))
}

func (v *View) subnet() bool {
	return v.known(ec2class.ConditionTypeSubnetsReady) && len(v.Class.Status.Subnets) > 0 && v.Machine.Subnet != "" &&
		!slices.ContainsFunc(v.Class.Status.Subnets, func(s ec2class.Subnet) bool { return s.ID == v.Machine.Subnet })
}

func (v *View) reservation() bool {
	return v.known(ec2class.ConditionTypeCapacityReservationsReady) && v.Machine.Reservation != "" &&
		!slices.ContainsFunc(v.Class.Status.CapacityReservations, func(r ec2class.CapacityReservation) bool { return r.ID == v.Machine.Reservation })
}

func (v *View) placementGroup() bool {
	return v.known(ec2class.ConditionTypePlacementGroupReady) && v.Machine.Group != v.Group
}
