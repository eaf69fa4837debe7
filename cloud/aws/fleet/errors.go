package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Meaning is what follows from an error of EC2.
type Meaning int

// The meanings.
const (
	// Unknown: nothing special; it is tried again.
	Unknown Meaning = iota
	// NoCapacity: the offering cannot be had now.
	NoCapacity
	// NoRoom: the capacity reservation is used up.
	NoRoom
	// NoAddresses: the subnet has no addresses left; another subnet of the zone may have.
	NoAddresses
	// NoSpot: no spot capacity can be had in the account at all.
	NoSpot
	// Quota: the account has reached a limit. Like NoCapacity, and an owner's matter.
	Quota
	// Throttled: asked too often.
	Throttled
	// Unauthorized: the credentials do not allow it.
	Unauthorized
	// Refused: AWS will not do it as it was asked; another offering does not help.
	Refused
	// NoTemplate: the launch template has been deleted meanwhile.
	NoTemplate
	// TokenUsed: the token was used before, with other parameters.
	TokenUsed
	// Gone: what the call is about does not exist.
	Gone
	// Broken: EC2 has a fault, or got the request too late or with credentials that had ended.
	Broken
)

// rule tells an error by its code and, where one code has several meanings, by a part of
// its message.
type rule struct {
	code, contains string
	meaning        Meaning
	// reason is Karpenter's word for it; EC2's own where Karpenter has one for all that is
	// sold out.
	reason string
}

// rules are tried in order; the first that fits counts.
var rules = []rule{
	{cloud.SoldOut, "", NoCapacity, cloud.SoldOut},
	{"UnfulfillableCapacity", "", NoCapacity, "UnfulfillableCapacity"},
	{"Unsupported", "", NoCapacity, "Unsupported"},
	{"UnsupportedOperation", "the instance type", NoCapacity, "Unsupported"},
	{"InvalidFleetConfiguration", "is not supported in your requested Availability Zone", NoCapacity, "Unsupported"},
	{"ReservationCapacityExceeded", "", NoRoom, "ReservationCapacityExceeded"},
	{"InsufficientReservedInstanceCapacity", "", NoRoom, "InsufficientReservedInstanceCapacity"},
	{"InsufficientFreeAddressesInSubnet", "", NoAddresses, "InsufficientFreeAddressesInSubnet"},
	// No prefix of addresses is left, though single ones may be.
	{"InsufficientCidrBlocks", "", NoAddresses, "InsufficientCidrBlocks"},
	{"InvalidParameterValue", "sufficient free Ipv4 addresses or prefixes", NoAddresses, "InsufficientFreeAddressesInSubnet"},
	{"MaxSpotInstanceCountExceeded", "", Quota, "SpotQuotaExceeded"},
	{"VcpuLimitExceeded", "", Quota, "VCPULimitExceeded"},
	{"MaxFleetCountExceeded", "", Quota, "FleetQuotaExceeded"},
	{"InstanceLimitExceeded", "", Quota, "VCPULimitExceeded"},
	{"PendingVerification", "", Refused, "AccountPendingVerification"},
	{"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "", NoSpot, "SpotSLRCreationFailed"},
	{"RequestLimitExceeded", "", Throttled, "RequestLimitExceeded"},
	{"Throttling", "", Throttled, "RequestLimitExceeded"},
	{"ThrottlingException", "", Throttled, "RequestLimitExceeded"},
	{"TooManyRequestsException", "", Throttled, "RequestLimitExceeded"},
	{"IdempotentParameterMismatch", "", TokenUsed, ""},
	{"InvalidLaunchTemplateName.NotFoundException", "", NoTemplate, "LaunchTemplateNotFound"},
	{"InvalidLaunchTemplateId.NotFound", "", NoTemplate, "LaunchTemplateNotFound"},
	{"AuthFailure", "Not authorized for images", Refused, "AMIAuthorizationFailure"},
	{"UnauthorizedOperation", "", Unauthorized, "Unauthorized"},
	{"AccessDenied", "", Unauthorized, "Unauthorized"},
	{"AccessDeniedException", "", Unauthorized, "Unauthorized"},
	{"AuthFailure", "", Unauthorized, "Unauthorized"},
	{"InvalidClientTokenId", "", Unauthorized, "Unauthorized"},
	{"UnrecognizedClientException", "", Unauthorized, "Unauthorized"},
	{"SignatureDoesNotMatch", "", Unauthorized, "Unauthorized"},
	{"KmsAccessDenied", "", Unauthorized, "Unauthorized"},
	{"KMS.AccessDeniedException", "", Unauthorized, "Unauthorized"},
	// SQS says the same of a queue that is not there and of one that may not be seen.
	{"QueueDoesNotExist", "", Unauthorized, "Unauthorized"},
	{"AWS.SimpleQueueService.NonExistentQueue", "", Unauthorized, "Unauthorized"},
	{"InvalidParameterValue", "Invalid IAM Instance Profile name", Refused, "InstanceProfileNameInvalid"},
	{"InvalidParameterValue", "iamInstanceProfile.name is invalid", Refused, "InstanceProfileNameInvalid"},
	{"InvalidParameterValue", "User data is limited to", Refused, "UserDataSizeLimitExceeded"},
	{"InvalidUserData.Malformed", "User data is limited to", Refused, "UserDataSizeLimitExceeded"},
	{"InvalidUserData.Malformed", "", Refused, "UserDataMalformed"},
	{"InvalidParameter", "belong to different networks", Refused, "SecurityGroupSubnetVPCMismatch"},
	{"InvalidParameterCombination", "not eligible for Free Tier", Refused, "FreeTierIneligible"},
	{"InvalidAMIID.Malformed", "", Refused, "InvalidAMIID"},
	{"InvalidAMIID.NotFound", "", Refused, "AMINotFound"},
	{"InvalidAMIID.Unavailable", "", Refused, "AMINotFound"},
	{"InvalidSubnetID.NotFound", "", Refused, "SubnetResolutionFailed"},
	{"InvalidPlacementGroup.Unknown", "", Refused, "PlacementGroupNotFound"},
	{"InvalidPlacementGroupId.NotFound", "", Refused, "PlacementGroupNotFound"},
	{"InvalidGroup.NotFound", "", Refused, "SecurityGroupNotFound"},
	{"InvalidSecurityGroupID.NotFound", "", Refused, "SecurityGroupNotFound"},
	{"InvalidInstanceID.NotFound", "", Gone, ""},
	{"InvalidInstanceID.Malformed", "", Gone, ""},
	{"InvalidCapacityReservationId.NotFound", "", Gone, "CapacityReservationNotFound"},
	{"NoSuchEntity", "", Gone, ""},
	{"ParameterNotFound", "", Gone, ""},
	{"ResourceNotFoundException", "", Gone, ""},
	{"InternalError", "", Broken, "InternalError"},
	{"InternalFailure", "", Broken, "InternalError"},
	{"Unavailable", "", Broken, "InternalError"},
	{"ServiceUnavailable", "", Broken, "InternalError"},
	{"RequestTimeout", "", Broken, ""},
	{"RequestExpired", "", Broken, ""},
	{"ExpiredToken", "", Broken, ""},
	{"ExpiredTokenException", "", Broken, ""},
	{"InvalidParameter", "", Refused, cloud.LaunchFailed},
	{"InvalidParameterValue", "", Refused, cloud.LaunchFailed},
	{"InvalidParameterCombination", "", Refused, cloud.LaunchFailed},
	{"MissingParameter", "", Refused, cloud.LaunchFailed},
}

// Meant is what an error of a launch means for a wave: a capacity reservation that does not exist
// any more has no room.
func (w *Wave) Meant(m Meaning) Meaning {
	if m == Gone && w.Reservation != "" {
		return NoRoom
	}
	return m
}

// Means says what follows from an error of AWS, by its code and its message, and the word for
// it in conditions and metrics.
func Means(code, message string) (Meaning, string) {
	for _, r := range rules {
		if r.code == code && strings.Contains(message, r.contains) {
			return r.meaning, cmp.Or(r.reason, cloud.LaunchFailed)
		}
	}
	return Unknown, cloud.LaunchFailed
}

// Plain is a message of AWS without the part that EC2 encodes, for sts:DecodeAuthorizationMessage
// to read: it differs from answer to answer, also where nothing else does.
func Plain(message string) string {
	text, rest, found := strings.Cut(message, " Encoded authorization failure message: ")
	if !found {
		return message
	}
	_, after, _ := strings.Cut(rest, " ")
	return strings.TrimSpace(text + " " + after)
}

// Translate puts an error of a call into the port's words. The action is AWS's name of the
// call, such as ec2:CreateFleet; meaning and reason are those of err, as [Means] has them, and
// message is what AWS says.
func Translate(action string, meaning Meaning, reason, message string, err error) error {
	switch meaning {
	case Throttled:
		return &cloud.ThrottledError{Err: err}
	case Unauthorized:
		return &cloud.UnauthorizedError{Action: action, Err: fmt.Errorf("%s: %w", denier(message), err)}
	case Refused:
		return &cloud.RefusedError{Reason: reason, Err: err}
	case Gone:
		return fmt.Errorf("%w: %w", cloud.ErrNotFound, err)
	}
	return &cloud.CallError{Action: action, Reason: reason, Err: err}
}

// denier is what keeps the credentials from a call.
func denier(message string) string {
	switch {
	case strings.Contains(message, "with an explicit deny in a permissions boundary"):
		return "a permissions boundary denies it"
	case strings.Contains(message, "with an explicit deny in a service control policy"):
		return "a service control policy denies it"
	}
	return "no identity-based policy allows it"
}

// Failure is why EC2 did not deliver one offering of a fleet.
type Failure struct {
	Code, Message string
	Type, Zone    string
	Subnet        string
}

func (f Failure) String() string { return f.Code + ": " + f.Message }

// Subnet is a subnet and its zone.
type Subnet struct{ ID, Zone string }

// Verdict is what the failures of one wave come to.
type Verdict struct {
	// SoldOut are the offerings that could not be had. Those of a zone whose subnet is full are
	// not among them: it may have another.
	SoldOut []catalog.Key
	// Limited are those of them that a quota of the account keeps from being had, and Limit is
	// what EC2 says of the first.
	Limited []catalog.Key
	Limit   string
	// Full are the subnets that have no addresses left.
	Full []Subnet
	// NoSpot says that the account can have no spot capacity, NoRoom that the capacity
	// reservation has none left.
	NoSpot, NoRoom bool
	// Err is the worst of the other failures, nil if there are none: it is not for lack of
	// capacity that the launch failed.
	Err error
	// Cause says what limits the account or the subnets, if anything but EC2's capacity
	// does; for people.
	Cause string
}

// Judge reads the failures of a wave. What EC2 says of no offering in particular counts for
// all that the wave asked for.
func Judge(w *Wave, failures []Failure) Verdict {
	var v Verdict
	var meaning Meaning
	add := func(k catalog.Key) {
		if k.Type == "" || k.Zone == "" {
			return
		}
		if !slices.Contains(v.SoldOut, k) {
			v.SoldOut = append(v.SoldOut, k)
		}
		if meaning == Quota && !slices.Contains(v.Limited, k) {
			v.Limited = append(v.Limited, k)
		}
	}
	for _, f := range failures {
		said, reason := Means(f.Code, f.Message)
		meaning = w.Meant(said)
		if meaning == Quota {
			v.Limit = cmp.Or(v.Limit, reason+": "+f.Message)
		}
		switch meaning {
		case NoCapacity, NoRoom, Quota, NoAddresses:
			if v.NoRoom = v.NoRoom || meaning == NoRoom; meaning == Quota || meaning == NoAddresses || said == Gone {
				v.Cause = cmp.Or(v.Cause, reason+": "+f.Message)
			}
			if full := (Subnet{f.Subnet, f.Zone}); meaning == NoAddresses && full.ID != "" && full.Zone != "" {
				if !slices.Contains(v.Full, full) {
					v.Full = append(v.Full, full)
				}
				continue
			}
			if f.Type == "" || spreadLimit(f.Message) {
				for _, k := range w.Keys(f.Zone) {
					add(k)
				}
				continue
			}
			add(catalog.Key{Type: f.Type, Zone: f.Zone, CapacityType: w.CapacityType})
		case NoSpot:
			v.NoSpot, v.Cause = true, cmp.Or(v.Cause, reason+": "+f.Message)
			for _, k := range w.Keys("") {
				add(k)
			}
		default:
			if v.Err == nil {
				v.Err = Translate("ec2:CreateFleet", meaning, reason, f.Message, fmt.Errorf("%s", f))
			}
		}
	}
	return v
}

// spreadLimit recognises the limit of a spread placement group, seven machines in a zone:
// it is of the zone, whatever the type.
func spreadLimit(message string) bool {
	return strings.Contains(message, "limit of instances in this spread placement group")
}
