package main

import (
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// service is one of AWS's.
type service struct {
	// name is the table's, model the file of the model without its ending.
	name, model string
	// inputs are of the Go SDK, one for each action in use.
	inputs []any
	// answered are fields of answers that the emulator gives and the model lacks.
	answered []answered
}

// answered is a field of an answer of the Go SDK, by the names on the way to it.
type answered struct {
	output any
	path   []string
}

// services lists every action that the emulator may play.
var services = []service{
	{"ec2", "ec2-2016-11-15", []any{
		ec2.AttachVolumeInput{}, ec2.CreateFleetInput{}, ec2.CreateLaunchTemplateInput{}, ec2.CreateTagsInput{}, ec2.CreateVolumeInput{},
		ec2.DeleteLaunchTemplateInput{}, ec2.DeleteTagsInput{}, ec2.DeleteVolumeInput{}, ec2.DescribeAvailabilityZonesInput{},
		ec2.DescribeCapacityReservationsInput{}, ec2.DescribeImagesInput{}, ec2.DescribeInstanceStatusInput{},
		ec2.DescribeInstanceTypeOfferingsInput{}, ec2.DescribeInstanceTypesInput{}, ec2.DescribeInstancesInput{},
		ec2.DescribeLaunchTemplateVersionsInput{}, ec2.DescribeLaunchTemplatesInput{}, ec2.DescribePlacementGroupsInput{},
		ec2.DescribeSecurityGroupsInput{}, ec2.DescribeSpotInstanceRequestsInput{}, ec2.DescribeSpotPriceHistoryInput{},
		ec2.DescribeSubnetsInput{}, ec2.DescribeVolumesInput{}, ec2.DetachVolumeInput{}, ec2.RunInstancesInput{},
		ec2.ModifyInstanceAttributeInput{}, ec2.RebootInstancesInput{}, ec2.StartInstancesInput{}, ec2.StopInstancesInput{}, ec2.TerminateInstancesInput{},
	}, []answered{{ec2.DescribeCapacityReservationsOutput{}, []string{"CapacityReservations", "Interruptible"}}}},
	{"ssm", "ssm-2014-11-06", []any{ssm.GetParameterInput{}, ssm.GetParametersInput{}}, nil},
	{"iam", "iam-2010-05-08", []any{
		iam.AddRoleToInstanceProfileInput{}, iam.CreateInstanceProfileInput{}, iam.DeleteInstanceProfileInput{}, iam.GetInstanceProfileInput{},
		iam.GetAccountAuthorizationDetailsInput{}, iam.GetRoleInput{}, iam.ListInstanceProfilesInput{}, iam.RemoveRoleFromInstanceProfileInput{}, iam.TagInstanceProfileInput{},
	}, nil},
	{"sts", "sts-2011-06-15", []any{sts.GetCallerIdentityInput{}}, nil},
	{"eks", "eks-2017-11-01", []any{eks.DescribeClusterInput{}}, nil},
	{"pricing", "pricing-2017-10-15", []any{pricing.GetProductsInput{}}, nil},
	{"sqs", "sqs-2012-11-05", []any{
		sqs.ChangeMessageVisibilityInput{}, sqs.DeleteMessageInput{}, sqs.DeleteMessageBatchInput{}, sqs.GetQueueAttributesInput{},
		sqs.GetQueueUrlInput{}, sqs.ReceiveMessageInput{}, sqs.SendMessageInput{}, sqs.SendMessageBatchInput{},
	}, nil},
	{"arc-zonal-shift", "arc-zonal-shift-2022-10-30", []any{arczonalshift.GetManagedResourceInput{}}, nil},
}

func (s service) operations() []string {
	var out []string
	for _, in := range s.inputs {
		out = append(out, operationOf(in))
	}
	return out
}

func operationOf(input any) string {
	return strings.TrimSuffix(reflect.TypeOf(input).Name(), "Input")
}

// sdk names the Go module of the service and its version.
func (s service) sdk() string {
	path := reflect.TypeOf(s.inputs[0]).PkgPath()
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == path {
			return path + " " + m.Version
		}
	}
	return path
}
