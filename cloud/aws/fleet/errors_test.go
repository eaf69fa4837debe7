package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

var spotWave = &Wave{CapacityType: catalog.Spot, Choices: []catalog.Choice{
	choice("m5.large", "a", catalog.Spot, 0.03), choice("m5.large", "b", catalog.Spot, 0.03), choice("c5.large", "a", catalog.Spot, 0.04),
}}

// Every code of EC2 and of the other services that means something is a row.
func TestEveryCodeBecomesOneOfThePortsErrors(t *testing.T) {
	const (
		soldOut = "sold out"
		other   = "tried again"
	)
	for _, tt := range []struct{ code, message, want string }{
		{"InsufficientInstanceCapacity", "We currently do not have sufficient capacity.", soldOut},
		{"UnfulfillableCapacity", "Unable to fulfill capacity due to your request configuration.", soldOut},
		{"Unsupported", "Your requested instance type is not supported in your requested Availability Zone.", soldOut},
		{"ReservationCapacityExceeded", "Your requested instances exceed the reservation.", soldOut},
		{"InsufficientReservedInstanceCapacity", "", soldOut},
		{"InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet 'subnet-1'.", "full subnets [{subnet-1 b}] InsufficientFreeAddressesInSubnet"},
		{"InsufficientCidrBlocks", "The specified subnet does not have enough free cidr blocks to satisfy the request.", "full subnets [{subnet-1 b}] InsufficientCidrBlocks"},
		{"InvalidParameterValue", "There aren't sufficient free Ipv4 addresses or prefixes", "full subnets [{subnet-1 b}] InsufficientFreeAddressesInSubnet"},
		{"MaxSpotInstanceCountExceeded", "Max spot instance count exceeded", soldOut + " SpotQuotaExceeded"},
		{"VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of 32 allows.", soldOut + " VCPULimitExceeded"},
		{"MaxFleetCountExceeded", "", soldOut + " FleetQuotaExceeded"},
		{"InstanceLimitExceeded", "", soldOut + " VCPULimitExceeded"},
		{"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.", soldOut + " SpotSLRCreationFailed"},
		{"PendingVerification", "Your request for accessing resources in this region is being validated.", "refused AccountPendingVerification"},
		{"RequestLimitExceeded", "Request limit exceeded.", "throttled"},
		{"Throttling", "Rate exceeded", "throttled"},
		{"ThrottlingException", "Rate exceeded", "throttled"},
		{"TooManyRequestsException", "", "throttled"},
		{"UnauthorizedOperation", "You are not authorized to perform this operation.", "unauthorized: no identity-based policy allows it"},
		{"UnauthorizedOperation", "… with an explicit deny in a permissions boundary", "unauthorized: a permissions boundary denies it"},
		{"UnauthorizedOperation", "… with an explicit deny in a service control policy", "unauthorized: a service control policy denies it"},
		{"AccessDenied", "User is not authorized to perform: iam:GetInstanceProfile", "unauthorized: no identity-based policy allows it"},
		{"AccessDeniedException", "", "unauthorized: no identity-based policy allows it"},
		{"AuthFailure", "AWS was not able to validate the provided access credentials", "unauthorized: no identity-based policy allows it"},
		{"AuthFailure", "Not authorized for images: [ami-1]", "refused AMIAuthorizationFailure"},
		{"InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", "refused InstanceProfileNameInvalid"},
		{"InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid.", "refused InstanceProfileNameInvalid"},
		{"InvalidParameterValue", "User data is limited to 16384 bytes", "refused UserDataSizeLimitExceeded"},
		{"InvalidUserData.Malformed", "User data is limited to 16384 bytes", "refused UserDataSizeLimitExceeded"},
		{"InvalidUserData.Malformed", "Invalid BASE64 encoding of user data", "refused UserDataMalformed"},
		{"InvalidParameter", "Security group sg-1 and subnet subnet-1 belong to different networks.", "refused SecurityGroupSubnetVPCMismatch"},
		{"InvalidParameterCombination", "The specified instance type is not eligible for Free Tier.", "refused FreeTierIneligible"},
		{"InvalidParameter", "", "refused LaunchFailed"},
		{"InvalidParameterValue", "", "refused LaunchFailed"},
		{"InvalidParameterCombination", "", "refused LaunchFailed"},
		{"MissingParameter", "", "refused LaunchFailed"},
		{"InvalidAMIID.Malformed", "", "refused InvalidAMIID"},
		{"AWS.SimpleQueueService.NonExistentQueue", "", "unauthorized: no identity-based policy allows it"},
		{"KMS.AccessDeniedException", "", "unauthorized: no identity-based policy allows it"},
		{"InvalidAMIID.NotFound", "", "refused AMINotFound"},
		{"InvalidAMIID.Unavailable", "", "refused AMINotFound"},
		{"InvalidSubnetID.NotFound", "", "refused SubnetResolutionFailed"},
		{"InvalidPlacementGroup.Unknown", "", "refused PlacementGroupNotFound"},
		{"InvalidPlacementGroupId.NotFound", "", "refused PlacementGroupNotFound"},
		{"InvalidGroup.NotFound", "", "refused SecurityGroupNotFound"},
		{"InvalidSecurityGroupID.NotFound", "", "refused SecurityGroupNotFound"},
		{"InvalidInstanceID.NotFound", "", "not found"},
		{"InvalidInstanceID.Malformed", "", "not found"},
		{"InvalidCapacityReservationId.NotFound", "", "not found"},
		{"NoSuchEntity", "", "not found"},
		{"ParameterNotFound", "", "not found"},
		{"ResourceNotFoundException", "", "not found"},
		{"InvalidLaunchTemplateName.NotFoundException", "", other},
		{"InvalidLaunchTemplateId.NotFound", "", other},
		{"IdempotentParameterMismatch", "", other},
		{"InternalError", "", other},
		{"InternalFailure", "", other},
		{"Unavailable", "", other},
		{"ServiceUnavailable", "", other},
		{"SomethingNew", "", other},
	} {
		v := Judge(spotWave, []Failure{{Code: tt.code, Message: tt.message, Type: "m5.large", Zone: "b", Subnet: "subnet-1"}})
		if got := printed(v); got != tt.want {
			t.Errorf("%s (%s): %s, want %s", tt.code, tt.message, got, tt.want)
		}
	}
}

func printed(v Verdict) string {
	var refused *cloud.RefusedError
	var unauthorized *cloud.UnauthorizedError
	var throttled *cloud.ThrottledError
	reason, _, _ := strings.Cut(v.Cause, ":")
	switch {
	case len(v.Full) > 0 && len(v.SoldOut) == 0:
		return fmt.Sprintf("full subnets %v %s", v.Full, reason)
	case v.Err == nil:
		return strings.TrimSpace("sold out " + reason)
	case errors.As(v.Err, &refused):
		return "refused " + refused.Reason
	case errors.As(v.Err, &unauthorized):
		why, _, _ := strings.Cut(unauthorized.Err.Error(), ":")
		return "unauthorized: " + why
	case errors.As(v.Err, &throttled):
		return "throttled"
	case errors.Is(v.Err, cloud.ErrNotFound):
		return "not found"
	}
	return "tried again"
}

// A rule that the table of the test above does not reach would be unchecked.
func TestNoRuleHidesAnother(t *testing.T) {
	for i, r := range rules {
		for _, earlier := range rules[:i] {
			if earlier.code == r.code && strings.Contains(r.contains, earlier.contains) {
				t.Errorf("%s (%s) is never reached", r.code, r.contains)
			}
		}
	}
}

func TestAFailureOfAZoneIsOneOfAllItsOfferings(t *testing.T) {
	key := func(typeName, zone string) catalog.Key {
		return catalog.Key{Type: typeName, Zone: zone, CapacityType: catalog.Spot}
	}
	for name, tt := range map[string]struct {
		failure Failure
		want    []catalog.Key
	}{
		"one offering":          {Failure{Code: "InsufficientInstanceCapacity", Type: "c5.large", Zone: "a"}, []catalog.Key{key("c5.large", "a")}},
		"no type is named":      {Failure{Code: "InsufficientInstanceCapacity", Zone: "a"}, []catalog.Key{key("m5.large", "a"), key("c5.large", "a")}},
		"nothing is named":      {Failure{Code: "UnfulfillableCapacity"}, []catalog.Key{key("m5.large", "a"), key("m5.large", "b"), key("c5.large", "a")}},
		"no spot at all":        {Failure{Code: "AuthFailure.ServiceLinkedRoleCreationNotPermitted", Type: "c5.large", Zone: "a"}, []catalog.Key{key("m5.large", "a"), key("m5.large", "b"), key("c5.large", "a")}},
		"a full spread":         {Failure{Code: "InsufficientInstanceCapacity", Message: "You've reached the limit of instances in this spread placement group.", Type: "c5.large", Zone: "a"}, []catalog.Key{key("m5.large", "a"), key("c5.large", "a")}},
		"not for capacity":      {Failure{Code: "InvalidAMIID.NotFound", Type: "c5.large", Zone: "a"}, nil},
		"a subnet that is full": {Failure{Code: "InsufficientFreeAddressesInSubnet", Type: "c5.large", Zone: "a", Subnet: "subnet-1"}, nil},
		"some subnet is full":   {Failure{Code: "InsufficientFreeAddressesInSubnet", Type: "c5.large", Zone: "a"}, []catalog.Key{key("c5.large", "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Judge(spotWave, []Failure{tt.failure, tt.failure}).SoldOut; !slices.Equal(got, tt.want) {
				t.Errorf("sold out are %v, want %v", got, tt.want)
			}
		})
	}
}
