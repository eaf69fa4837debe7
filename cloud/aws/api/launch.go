package api

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/cloud/aws/fleet"
	"github.com/millwright-dev/millwright/cloud/aws/launchtemplate"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Launch asks for one machine. A nil error with no instance in the answer means that nothing
// was launched; the meaning of an error says whether that is certain.
func (c *Client) Launch(ctx context.Context, r fleet.Request) (fleet.Answer, fleet.Meaning, error) {
	out, err := c.ec2.CreateFleet(ctx, fleetInput(r))
	if err != nil {
		return fleet.Answer{}, meaning(err), translate("ec2:CreateFleet", err)
	}
	answer := fleet.Answer{Fleet: value(out.FleetId)}
	for _, e := range out.Errors {
		f := fleet.Failure{Code: value(e.ErrorCode), Message: fleet.Plain(value(e.ErrorMessage))}
		if o := override(e.LaunchTemplateAndOverrides); o != nil {
			f.Type, f.Zone, f.Subnet = string(o.InstanceType), value(o.AvailabilityZone), value(o.SubnetId)
		}
		answer.Failures = append(answer.Failures, f)
	}
	for _, i := range out.Instances {
		if len(i.InstanceIds) == 0 || answer.Instance.ID != "" {
			continue
		}
		answer.Instance = fleet.Launched{ID: i.InstanceIds[0], Type: string(i.InstanceType)}
		if o := override(i.LaunchTemplateAndOverrides); o != nil {
			answer.Instance.Zone, answer.Instance.Subnet, answer.Instance.Image = value(o.AvailabilityZone), value(o.SubnetId), value(o.ImageId)
		}
	}
	return answer, fleet.Unknown, nil
}

func override(r *types.LaunchTemplateAndOverridesResponse) *types.FleetLaunchTemplateOverrides {
	if r == nil {
		return nil
	}
	return r.Overrides
}

func fleetInput(r fleet.Request) *ec2.CreateFleetInput {
	in := &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant, ClientToken: aws.String(r.Token), Context: pointer(r.Context),
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: types.DefaultTargetCapacityType(r.Target),
		},
		TagSpecifications: []types.TagSpecification{
			specification(types.ResourceTypeInstance, r.Tags), specification(types.ResourceTypeVolume, r.Tags), specification(types.ResourceTypeFleet, r.Tags),
		},
	}
	switch {
	case r.Target == catalog.Spot:
		in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategy(r.Strategy)}
	case r.Target == fleet.ReservedCapacity:
		in.ReservedCapacityOptions = &types.ReservedCapacityOptionsRequest{ReservationTypes: []types.FleetReservationType{types.FleetReservationTypeInterruptibleCapacityReservation}}
	case r.Strategy != "":
		in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategy(r.Strategy)}
	}
	for _, c := range r.Configs {
		config := types.FleetLaunchTemplateConfigRequest{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String(c.Template), Version: aws.String("$Latest")},
		}
		for _, o := range c.Overrides {
			config.Overrides = append(config.Overrides, types.FleetLaunchTemplateOverridesRequest{
				InstanceType: types.InstanceType(o.Type), SubnetId: aws.String(o.Subnet), ImageId: aws.String(o.Image),
				AvailabilityZone: aws.String(o.Zone), Priority: aws.Float64(o.Priority),
			})
		}
		in.LaunchTemplateConfigs = append(in.LaunchTemplateConfigs, config)
	}
	return in
}

func tags(values map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(values[key])})
	}
	return out
}

func specification(kind types.ResourceType, values map[string]string) types.TagSpecification {
	return types.TagSpecification{ResourceType: kind, Tags: tags(values)}
}

// CreateTemplate makes a launch template, unless one of its name exists: then that is the
// same.
func (c *Client) CreateTemplate(ctx context.Context, t *launchtemplate.Content) error {
	_, err := c.ec2.CreateLaunchTemplate(ctx, templateInput(t))
	if code(err) == "InvalidLaunchTemplateName.AlreadyExistsException" {
		return nil
	}
	return translate("ec2:CreateLaunchTemplate", err)
}

func templateInput(t *launchtemplate.Content) *ec2.CreateLaunchTemplateInput {
	return &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(t.Name()), LaunchTemplateData: templateData(t),
		TagSpecifications: []types.TagSpecification{specification(types.ResourceTypeLaunchTemplate, t.Tags)},
	}
}

// DeleteTemplate deletes a launch template; one that is gone is fine.
func (c *Client) DeleteTemplate(ctx context.Context, name string) error {
	_, err := c.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String(name)})
	if meaning(err) == fleet.NoTemplate {
		return nil
	}
	return translate("ec2:DeleteLaunchTemplate", err)
}

// Templates lists the names of the launch templates that carry the tags.
func (c *Client) Templates(ctx context.Context, wanted map[string]string) ([]string, error) {
	var out []string
	pages := ec2.NewDescribeLaunchTemplatesPaginator(c.ec2, &ec2.DescribeLaunchTemplatesInput{Filters: tagFilters(wanted)})
	for page, err := range each(ctx, "ec2:DescribeLaunchTemplates", pages) {
		if err != nil {
			return nil, err
		}
		for _, t := range page.LaunchTemplates {
			out = append(out, value(t.LaunchTemplateName))
		}
	}
	return out, nil
}

func templateData(t *launchtemplate.Content) *types.RequestLaunchTemplateData {
	out := &types.RequestLaunchTemplateData{
		ImageId: aws.String(t.Image), UserData: aws.String(t.UserData),
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(t.Profile)},
		Monitoring:         &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(t.Monitoring)},
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpEndpoint:            types.LaunchTemplateInstanceMetadataEndpointState(value(t.Metadata.HTTPEndpoint)),
			HttpProtocolIpv6:        types.LaunchTemplateInstanceMetadataProtocolIpv6(value(t.Metadata.HTTPProtocolIPv6)),
			HttpPutResponseHopLimit: small(t.Metadata.HTTPPutResponseHopLimit),
			HttpTokens:              types.LaunchTemplateHttpTokensState(value(t.Metadata.HTTPTokens)),
			// Keys such as kubernetes.io/cluster/x are no valid names there, and an account may
			// have it on by default.
			InstanceMetadataTags: types.LaunchTemplateInstanceMetadataTagsStateDisabled,
		},
		Placement:         &types.LaunchTemplatePlacementRequest{Tenancy: types.Tenancy(t.Tenancy), GroupId: pointer(t.Group), PartitionNumber: pointer(t.Partition)},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: tags(t.Tags)}},
		CapacityReservationSpecification: &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceNone,
		},
	}
	if t.CapacityType == catalog.Spot {
		out.TagSpecifications = append(out.TagSpecifications, types.LaunchTemplateTagSpecificationRequest{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tags(t.Tags)})
	}
	if t.Open {
		out.CapacityReservationSpecification.CapacityReservationPreference = types.CapacityReservationPreferenceOpen
	}
	if t.Reservation != "" {
		out.CapacityReservationSpecification = &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
			CapacityReservationTarget:     &types.CapacityReservationTarget{CapacityReservationId: aws.String(t.Reservation)},
		}
	}
	if t.Market != "" {
		out.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketType(t.Market)}
	}
	if t.Nested != "" {
		out.CpuOptions = &types.LaunchTemplateCpuOptionsRequest{NestedVirtualization: types.NestedVirtualizationSpecification(t.Nested)}
	}
	if t.Enclaves {
		out.EnclaveOptions = &types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(true)}
	}
	for _, d := range t.Devices {
		out.BlockDeviceMappings = append(out.BlockDeviceMappings, blockDevice(d))
	}
	for i := range t.Interfaces {
		out.NetworkInterfaces = append(out.NetworkInterfaces, networkInterface(&t.Interfaces[i]))
	}
	return out
}

func blockDevice(d *ec2class.BlockDeviceMapping) types.LaunchTemplateBlockDeviceMappingRequest {
	out := types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: d.DeviceName}
	if e := d.EBS; e != nil {
		out.Ebs = &types.LaunchTemplateEbsBlockDeviceRequest{
			DeleteOnTermination: e.DeleteOnTermination, Encrypted: e.Encrypted, VolumeType: types.VolumeType(value(e.VolumeType)),
			Iops: small(e.IOPS), Throughput: small(e.Throughput), KmsKeyId: e.KMSKeyID, SnapshotId: e.SnapshotID,
			VolumeInitializationRate: e.VolumeInitializationRate, VolumeSize: gibibytes(e.VolumeSize),
		}
	}
	return out
}

// gibibytes is a size in whole GiB, rounded up.
func gibibytes(q *resource.Quantity) *int32 {
	if q == nil {
		return nil
	}
	return aws.Int32(int32(math.Ceil(q.AsApproximateFloat64() / (1 << 30))))
}

func small(n *int64) *int32 {
	if n == nil {
		return nil
	}
	return aws.Int32(int32(*n))
}

func networkInterface(i *launchtemplate.Interface) types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
	out := types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
		DeviceIndex: aws.Int32(i.Device), InterfaceType: pointer(i.Type), Groups: i.Groups, AssociatePublicIpAddress: i.PublicIP,
		Ipv4PrefixCount: i.IPv4Prefixes, Ipv6AddressCount: i.IPv6Addresses, PrimaryIpv6: pointer(i.PrimaryIPv6),
	}
	if i.Type != "" {
		out.NetworkCardIndex = aws.Int32(i.Card)
	}
	if t := i.Tracking; t != nil {
		out.ConnectionTrackingSpecification = &types.ConnectionTrackingSpecificationRequest{
			TcpEstablishedTimeout: t.TCPEstablishedTimeout, UdpStreamTimeout: t.UDPStreamTimeout, UdpTimeout: t.UDPTimeout,
		}
	}
	return out
}
