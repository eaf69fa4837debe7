package aws

import (
	"context"
	stderrors "errors"
	"fmt"
	"slices"
	"sync/atomic"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/sandbox/csi"
)

// Volumes makes the calls of EC2 that its volume driver makes. It is safe for concurrent
// use.
type Volumes struct {
	server *Server
	calls  *ec2.Client
	serial atomic.Uint32
}

var _ csi.Books = (*Volumes)(nil)

// DriverKey is the access key of the volume driver, by which its calls are told from others.
const DriverKey = "ebs-csi"

// NewVolumes makes the volume driver's side of EC2.
func NewVolumes(s *Server) *Volumes {
	key := sdk.CredentialsProviderFunc(func(context.Context) (sdk.Credentials, error) {
		return sdk.Credentials{AccessKeyID: DriverKey, SecretAccessKey: DriverKey}, nil
	})
	return &Volumes{server: s, calls: ec2.NewFromConfig(sdk.Config{Region: Region, BaseEndpoint: &s.URL, Credentials: key})}
}

// Create makes a volume.
func (v *Volumes) Create(ctx context.Context, token, zone string, bytes int64) (string, error) {
	const gib = 1 << 30
	out, err := v.calls.CreateVolume(ctx, &ec2.CreateVolumeInput{
		AvailabilityZone: &zone, ClientToken: &token, Size: sdk.Int32(int32((bytes + gib - 1) / gib)), VolumeType: types.VolumeTypeGp3,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{{Key: sdk.String("ebs.csi.aws.com/cluster"), Value: sdk.String("true")}}}},
	})
	if err != nil {
		return "", fmt.Errorf("ec2:CreateVolume: %w", err)
	}
	return *out.VolumeId, nil
}

// Delete deletes a volume.
func (v *Volumes) Delete(ctx context.Context, handle string) error {
	_, err := v.calls.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: &handle})
	if err != nil && !is(err, "InvalidVolume.NotFound") {
		return fmt.Errorf("ec2:DeleteVolume: %w", err)
	}
	return nil
}

// Machine is the ID of a Node's instance.
func (v *Volumes) Machine(node *corev1.Node) string { return instanceOf(node) }

// Set attaches a volume or detaches it. A busy one is asked to be detached and is not.
func (v *Volumes) Set(ctx context.Context, machine, handle string, s csi.State) error {
	if s == csi.Attached {
		return v.attach(ctx, machine, handle)
	}
	if v.server.EC2.StickVolume(handle, s == csi.Busy) != nil {
		return nil // there is no such volume any more
	}
	_, err := v.calls.DetachVolume(ctx, &ec2.DetachVolumeInput{VolumeId: &handle, InstanceId: &machine})
	if err != nil && !is(err, "IncorrectState", "InvalidVolume.NotFound") {
		return fmt.Errorf("ec2:DetachVolume: %w", err)
	}
	return nil
}

func (v *Volumes) attach(ctx context.Context, machine, handle string) error {
	n := v.serial.Add(1)
	device := fmt.Sprintf("/dev/xvd%c%c", 'a'+n/26%26, 'a'+n%26)
	_, err := v.calls.AttachVolume(ctx, &ec2.AttachVolumeInput{VolumeId: &handle, InstanceId: &machine, Device: &device})
	if err == nil {
		return nil
	}
	if !is(err, "VolumeInUse") {
		return fmt.Errorf("ec2:AttachVolume: %w", err)
	}
	there, described := v.calls.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{handle}})
	if described != nil {
		return fmt.Errorf("ec2:DescribeVolumes: %w", described)
	}
	for _, a := range there.Volumes[0].Attachments {
		if *a.InstanceId == machine {
			return nil
		}
	}
	return fmt.Errorf("ec2:AttachVolume: %w", err)
}

// is reports whether an error is one of EC2's with one of some codes.
func is(err error, codes ...string) bool {
	var api smithy.APIError
	if stderrors.As(err, &api) {
		return slices.Contains(codes, api.ErrorCode())
	}
	return false
}
