package awstest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
)

// disks shows the volumes of an instance as DescribeInstances has them: device=status.
func (w *world) disks(id string) map[string]string {
	out := map[string]string{}
	for _, d := range w.instance(id).BlockDeviceMappings {
		out[*d.DeviceName] = string(d.Ebs.Status)
	}
	return out
}

// status is a volume's and its attachment's.
func (w *world) status(id string) string {
	out, err := w.ec2.DescribeVolumes(w.t.Context(), &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		return code(err)
	}
	text := string(out.Volumes[0].State)
	for _, a := range out.Volumes[0].Attachments {
		text += " " + string(a.State)
	}
	return text
}

func TestAVolumeIsAttachedDetachedAndSticks(t *testing.T) {
	w := newWorld(t, awstest.Config{Delays: ec2test.Delays{Boot: time.Second, Shutdown: time.Minute, Attach: 2 * time.Second, Detach: 3 * time.Second}})
	ctx := t.Context()
	w.template("nodes")
	id := ids(w.fleet(fleetInput("nodes", types.DefaultTargetCapacityTypeOnDemand, 1, "m5.large/a")))[0]
	made, err := w.ec2.CreateVolume(ctx, &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-east-1a"), Size: aws.Int32(10), ClientToken: aws.String("claim")})
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.ec2.CreateVolume(ctx, &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-east-1a"), Size: aws.Int32(10), ClientToken: aws.String("claim")})
	if err != nil || *again.VolumeId != *made.VolumeId {
		t.Fatalf("the second call made %v, %v", again, err)
	}
	want := func(what, text string) {
		t.Helper()
		if got := w.status(*made.VolumeId); got != text {
			t.Errorf("%s: %q, want %q", what, got, text)
		}
	}
	attach := &ec2.AttachVolumeInput{VolumeId: made.VolumeId, InstanceId: &id, Device: aws.String("/dev/xvdaa")}
	if _, err := w.ec2.AttachVolume(ctx, attach); code(err) != "IncorrectState" {
		t.Errorf("to a pending instance: %v", err)
	}
	if _, err := w.ec2.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{id}}); code(err) != "IncorrectInstanceState" {
		t.Errorf("rebooting one: %v", err)
	}
	w.clock.Step(time.Second)
	if _, err := w.ec2.AttachVolume(ctx, attach); err != nil {
		t.Fatal(err)
	}
	want("at once", "in-use attaching")
	w.clock.Step(2 * time.Second)
	want("later", "in-use attached")
	if d := w.disks(id); d["/dev/xvda"] != "attached" || d["/dev/xvdaa"] != "attached" {
		t.Errorf("the instance has %v", d)
	}
	if _, err := w.ec2.AttachVolume(ctx, attach); code(err) != "VolumeInUse" {
		t.Errorf("a second time: %v", err)
	}
	if err := w.EC2.StickVolume(*made.VolumeId, true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ec2.DetachVolume(ctx, &ec2.DetachVolumeInput{VolumeId: made.VolumeId}); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Hour)
	want("stuck", "in-use busy")
	if err := w.EC2.StickVolume(*made.VolumeId, false); err != nil {
		t.Fatal(err)
	}
	want("let go", "available")
	if _, err := w.ec2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: made.VolumeId}); err != nil {
		t.Error(err)
	}
	want("deleted", "InvalidVolume.NotFound")
}

func TestTheRootVolumeGoesWithItsInstanceAndAnAttachedOneStays(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	ctx := t.Context()
	w.template("nodes")
	id := ids(w.fleet(fleetInput("nodes", types.DefaultTargetCapacityTypeOnDemand, 1, "m5.large/a")))[0]
	w.clock.Step(10 * time.Second)
	made, err := w.ec2.CreateVolume(ctx, &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-east-1a"), Size: aws.Int32(10)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ec2.AttachVolume(ctx, &ec2.AttachVolumeInput{VolumeId: made.VolumeId, InstanceId: &id, Device: aws.String("/dev/xvdaa")}); err != nil {
		t.Fatal(err)
	}
	root := *w.instance(id).BlockDeviceMappings[0].Ebs.VolumeId
	all, err := w.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{Filters: []types.Filter{{Name: aws.String("tag:karpenter.sh/nodepool"), Values: []string{"default"}}}})
	if err != nil || len(all.Volumes) != 1 || *all.Volumes[0].VolumeId != root || *all.Volumes[0].Size != 20 {
		t.Errorf("volumes with the fleet's tags: %+v, %v", all, err)
	}
	if _, err := w.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	if got := w.status(*made.VolumeId); got != "in-use attached" {
		t.Errorf("while the instance shuts down the volume is %q", got)
	}
	w.clock.Step(30 * time.Second)
	if got := w.status(*made.VolumeId); got != "available" {
		t.Errorf("the volume is %q", got)
	}
	if got := w.status(root); got != "InvalidVolume.NotFound" {
		t.Errorf("the root volume is %q", got)
	}
}

func TestACapacityBlockTakesNoLaunchOfTheUsualMarket(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.EC2.Reserved.Reserve(reserve.Reservation{ID: "cr-1", Type: "m5.large", Zone: "us-east-1a", Total: 1, ReservationType: reserve.Block})
	_, err := w.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large", ImageId: aws.String(x86),
		Placement:                        &types.Placement{AvailabilityZone: aws.String("us-east-1a")},
		CapacityReservationSpecification: &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String("cr-1")}},
	})
	if code(err) != "InvalidParameterValue" || !strings.Contains(err.Error(), "market type") {
		t.Errorf("answered %v", err)
	}
}
