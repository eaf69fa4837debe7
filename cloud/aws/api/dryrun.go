package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/cloud/aws/fleet"
	"github.com/millwright-dev/millwright/cloud/aws/launchtemplate"
)

// once is for dry runs: they are made again later anyway.
func once(o *ec2.Options) { o.Retryer = aws.NopRetryer{} }

// allowed is the outcome of a dry run: nil if it would have been done, or has been.
func allowed(action string, err error) error {
	switch code(err) {
	case "DryRunOperation", "InvalidLaunchTemplateName.AlreadyExistsException":
		return nil
	}
	return translate(action, err)
}

// TryTemplate asks whether CreateTemplate would be allowed.
func (c *Client) TryTemplate(ctx context.Context, t *launchtemplate.Content) error {
	in := templateInput(t)
	in.DryRun = aws.Bool(true)
	_, err := c.ec2.CreateLaunchTemplate(ctx, in, once)
	return allowed("ec2:CreateLaunchTemplate", err)
}

// TryLaunch asks whether Launch would be allowed. The launch templates of the request must
// exist.
func (c *Client) TryLaunch(ctx context.Context, r fleet.Request) error {
	in := fleetInput(r)
	in.DryRun, in.ClientToken = aws.Bool(true), nil
	_, err := c.ec2.CreateFleet(ctx, in, once)
	return allowed("ec2:CreateFleet", err)
}

// TryInstance asks whether an instance like those of a template may be started in a subnet:
// also with this image, these security groups, and this role.
func (c *Client) TryInstance(ctx context.Context, t *launchtemplate.Content, typeName, subnet string, values map[string]string) error {
	in := &ec2.RunInstancesInput{
		DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: aws.String(t.Image), InstanceType: types.InstanceType(typeName),
		UserData: pointer(t.UserData), IamInstanceProfile: &types.IamInstanceProfileSpecification{Name: aws.String(t.Profile)},
		Placement: &types.Placement{Tenancy: types.Tenancy(t.Tenancy), GroupId: pointer(t.Group), PartitionNumber: pointer(t.Partition)},
		TagSpecifications: []types.TagSpecification{
			specification(types.ResourceTypeInstance, values), specification(types.ResourceTypeVolume, values), specification(types.ResourceTypeNetworkInterface, t.Tags),
		},
	}
	for i := range t.Interfaces {
		n := &t.Interfaces[i]
		spec := types.InstanceNetworkInterfaceSpecification{
			DeviceIndex: aws.Int32(n.Device), Groups: n.Groups, SubnetId: aws.String(subnet), AssociatePublicIpAddress: n.PublicIP, InterfaceType: pointer(n.Type),
		}
		if n.Type != "" {
			spec.NetworkCardIndex = aws.Int32(n.Card)
		}
		in.NetworkInterfaces = append(in.NetworkInterfaces, spec)
	}
	_, err := c.ec2.RunInstances(ctx, in, once)
	return allowed("ec2:RunInstances", err)
}
