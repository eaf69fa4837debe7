package api

import (
	"context"
	"encoding/json"

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

// TryInstance asks whether an instance of a template may be started in a subnet. The template need
// not exist: the call has all that it would say, as IAM decides by it.
func (c *Client) TryInstance(ctx context.Context, t *launchtemplate.Content, typeName, subnet string, values map[string]string) error {
	in, err := instanceInput(t)
	if err != nil {
		return err
	}
	in.DryRun, in.MinCount, in.MaxCount, in.InstanceType = aws.Bool(true), aws.Int32(1), aws.Int32(1), types.InstanceType(typeName)
	in.UserData = pointer(t.UserData)
	in.TagSpecifications = append(in.TagSpecifications, specification(types.ResourceTypeInstance, values), specification(types.ResourceTypeVolume, values))
	for i := range in.NetworkInterfaces {
		in.NetworkInterfaces[i].SubnetId = aws.String(subnet)
	}
	_, err = c.ec2.RunInstances(ctx, in, once)
	return allowed("ec2:RunInstances", err)
}

// instanceInput is a template's data as RunInstances has them: under the same names.
func instanceInput(t *launchtemplate.Content) (*ec2.RunInstancesInput, error) {
	text, err := json.Marshal(templateData(t))
	if err != nil {
		return nil, err
	}
	in := &ec2.RunInstancesInput{}
	return in, json.Unmarshal(text, in)
}
