package api

import (
	"context"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/fleet"
)

// Instance is what EC2 says of a machine.
type Instance struct {
	ID, Type, Image string
	Zone, ZoneID    string
	Subnet          string
	SecurityGroups  []string
	// Profile is the name of its instance profile.
	Profile string
	// State is pending, running, stopping, stopped, shutting-down or terminated.
	State string
	// Cause is why it was ended or stopped, in EC2's words.
	Cause    string
	Launched time.Time
	Tags     map[string]string
	// Spot says that it is bought so; Reservation is the capacity reservation that it was
	// launched into on purpose, Block that this is a capacity block, Interruptible that EC2
	// may take it back.
	Spot                 bool
	Reservation          string
	Block, Interruptible bool
	Tenancy              string
	Group                string
	Partition            int32
	// Volumes are what is attached and stays when it goes.
	Volumes []Attached
}

// Attached is a volume of a machine.
type Attached struct {
	Volume, Device, State string
	Since                 time.Time
}

// alive are the states of machines that are not gone for good.
var alive = []string{"pending", "running", "stopping", "stopped", "shutting-down"}

// Instances lists the machines that carry all tags, an empty value being any, and are not
// gone for good.
func (c *Client) Instances(ctx context.Context, wanted map[string]string) ([]Instance, error) {
	return c.described(ctx, append(tagFilters(wanted), types.Filter{Name: aws.String("instance-state-name"), Values: alive}))
}

func (c *Client) described(ctx context.Context, filters []types.Filter) ([]Instance, error) {
	var out []Instance
	pages := ec2.NewDescribeInstancesPaginator(c.ec2, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(1000)})
	for page, err := range each(ctx, "ec2:DescribeInstances", pages) {
		if err != nil {
			return nil, err
		}
		for _, r := range page.Reservations {
			for i := range r.Instances {
				out = append(out, instance(&r.Instances[i]))
			}
		}
	}
	return out, nil
}

// MostIDs is how many machines InstancesByID describes at once: EC2's limit of values for a
// filter.
const MostIDs = 200

// InstancesByID describes those of some machines that EC2 knows, gone ones as well. Unlike a
// question for IDs, one by filter is answered although an ID means nothing.
func (c *Client) InstancesByID(ctx context.Context, ids []string) ([]Instance, error) {
	return c.described(ctx, []types.Filter{{Name: aws.String("instance-id"), Values: ids}})
}

// Instance describes one machine, also when it is gone and EC2 still knows it. Errors:
// cloud.ErrNotFound.
func (c *Client) Instance(ctx context.Context, id string) (Instance, error) {
	out, err := c.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return Instance{}, translate("ec2:DescribeInstances", err)
	}
	for _, r := range out.Reservations {
		if len(r.Instances) > 0 {
			return instance(&r.Instances[0]), nil
		}
	}
	return Instance{}, cloud.ErrNotFound
}

func instance(i *types.Instance) Instance {
	out := Instance{
		ID: value(i.InstanceId), Type: string(i.InstanceType), Image: value(i.ImageId), Subnet: value(i.SubnetId),
		Launched: value(i.LaunchTime), Tags: map[string]string{}, Spot: i.SpotInstanceRequestId != nil || i.InstanceLifecycle == types.InstanceLifecycleTypeSpot,
		Block:         i.InstanceLifecycle == types.InstanceLifecycleTypeCapacityBlock,
		Interruptible: i.InstanceLifecycle == types.InstanceLifecycleTypeInterruptibleCapacityReservation,
	}
	if i.State != nil {
		out.State = string(i.State.Name)
	}
	if p := i.IamInstanceProfile; p != nil {
		out.Profile = path.Base(value(p.Arn))
	}
	if i.StateReason != nil {
		out.Cause = value(i.StateReason.Message)
	}
	if p := i.Placement; p != nil {
		out.Zone, out.ZoneID, out.Tenancy, out.Partition = value(p.AvailabilityZone), value(p.AvailabilityZoneId), string(p.Tenancy), value(p.PartitionNumber)
		out.Group = value(p.GroupId)
	}
	// A machine that found its way into an open reservation by itself is on-demand.
	if s := i.CapacityReservationSpecification; s != nil && s.CapacityReservationPreference == types.CapacityReservationPreferenceCapacityReservationsOnly {
		out.Reservation = value(i.CapacityReservationId)
	}
	for _, g := range i.SecurityGroups {
		out.SecurityGroups = append(out.SecurityGroups, value(g.GroupId))
	}
	slices.Sort(out.SecurityGroups)
	for _, t := range i.Tags {
		out.Tags[value(t.Key)] = value(t.Value)
	}
	for _, d := range i.BlockDeviceMappings {
		if d.Ebs != nil && !value(d.Ebs.DeleteOnTermination) {
			out.Volumes = append(out.Volumes, Attached{value(d.Ebs.VolumeId), value(d.DeviceName), string(d.Ebs.Status), value(d.Ebs.AttachTime)})
		}
	}
	return out
}

// VolumeStates are the states of the attachments of volumes to a machine, by volume, as the
// volumes themselves say: attaching, attached, detaching or busy.
func (c *Client) VolumeStates(ctx context.Context, instance string, volumes []string) (map[string]string, error) {
	out := map[string]string{}
	if len(volumes) == 0 {
		return out, nil
	}
	found, err := c.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: volumes})
	if err != nil {
		return nil, translate("ec2:DescribeVolumes", err)
	}
	for _, v := range found.Volumes {
		for _, a := range v.Attachments {
			if value(a.InstanceId) == instance {
				out[value(v.VolumeId)] = string(a.State)
			}
		}
	}
	return out, nil
}

// Terminate begins to end machines, and says in what state each was before; terminated is gone
// for good. If EC2 refuses, it need not have done anything to the others: named are those because
// of which it does, as far as it says so. Errors: cloud.ErrNotFound if EC2 knows some of them no more.
func (c *Client) Terminate(ctx context.Context, ids []string) (before map[string]string, named []string, err error) {
	answer, err := c.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
	if err != nil {
		_, _, message := understood(err)
		words := instanceID.FindAllString(message, -1)
		for _, id := range ids {
			if slices.Contains(words, id) {
				named = append(named, id)
			}
		}
		return nil, named, translate("ec2:TerminateInstances", err)
	}
	before = map[string]string{}
	for _, change := range answer.TerminatingInstances {
		if change.PreviousState != nil {
			before[value(change.InstanceId)] = string(change.PreviousState.Name)
		}
	}
	return before, nil, nil
}

// instanceID finds the machines that a message of EC2 is about, which no other part of its answer has:
//
//	The instance IDs 'i-0a, i-0b' do not exist
//	The instance 'i-0a' may not be terminated. Modify its 'disableApiTermination' instance attribute
//	… is not authorized to perform: ec2:TerminateInstances on resource: arn:aws:ec2:us-east-1:1:instance/i-0a
var instanceID = regexp.MustCompile(`\bi-[0-9a-f]+\b`)

// Reboot tells a machine that runs to reboot.
func (c *Client) Reboot(ctx context.Context, id string) error {
	_, err := c.ec2.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{id}})
	return translate("ec2:RebootInstances", err)
}

// Stop begins to stop a machine that runs.
func (c *Client) Stop(ctx context.Context, id string) error {
	_, err := c.ec2.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{id}})
	return translate("ec2:StopInstances", err)
}

// Start begins to start a machine that is stopped. Errors: cloud.InsufficientCapacityError,
// without the offering.
func (c *Client) Start(ctx context.Context, id string) error {
	_, err := c.ec2.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: []string{id}})
	if m := meaning(err); err != nil && slices.Contains([]fleet.Meaning{fleet.NoCapacity, fleet.NoRoom, fleet.Quota}, m) {
		return &cloud.InsufficientCapacityError{Cause: err.Error()}
	}
	return translate("ec2:StartInstances", err)
}

// TagInstance puts tags on a machine.
func (c *Client) TagInstance(ctx context.Context, id string, values map[string]string) error {
	_, err := c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: tags(values)})
	return translate("ec2:CreateTags", err)
}

func tagFilters(wanted map[string]string) []types.Filter {
	var out []types.Filter
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if v := wanted[key]; v == "" {
			out = append(out, types.Filter{Name: aws.String("tag-key"), Values: []string{key}})
		} else {
			out = append(out, types.Filter{Name: aws.String("tag:" + key), Values: []string{v}})
		}
	}
	return out
}

// code is AWS's own of an error, empty for any other.
func code(err error) string {
	var fault smithy.APIError
	if errors.As(err, &fault) {
		return fault.ErrorCode()
	}
	return ""
}
