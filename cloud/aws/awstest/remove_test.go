package awstest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
)

// What instances are in stays as long as they are there; what is gone is neither found nor
// launched into.
func TestWhatIsInUseIsNotDeletedAndWhatIsDeletedIsGone(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.template("nodes")
	od := types.DefaultTargetCapacityTypeOnDemand
	machine := ids(w.fleet(fleetInput("nodes", od, 1, "m5.large/a")))
	const subnet, group = "subnet-0000000000000000a", "sg-0000000000000000a"
	remove := func(id, refusal string) {
		t.Helper()
		if err := w.EC2.Remove(id); (err == nil) != (refusal == "") || err != nil && !strings.HasPrefix(err.Error(), refusal) {
			t.Errorf("removing %s: %v, want %q", id, err, refusal)
		}
	}
	remove(subnet, "DependencyViolation")
	remove(group, "DependencyViolation")
	remove("subnet-none", "InvalidParameterValue")
	if _, err := w.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: machine}); err != nil {
		t.Fatal(err)
	}
	remove(subnet, "DependencyViolation") // it is shutting down
	w.clock.Step(time.Minute)
	remove(subnet, "")
	if out, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err != nil || len(out.Subnets) != 2 {
		t.Errorf("there are %d subnets, error %v", len(out.Subnets), err)
	}
	if _, err := w.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{subnet}}); code(err) != "InvalidSubnetID.NotFound" {
		t.Errorf("by its ID: %v", err)
	}
	fails := func(want string) {
		t.Helper()
		if out := w.fleet(fleetInput("nodes", od, 1, "m5.large/b")); len(out.Errors) != 1 || *out.Errors[0].ErrorCode != want {
			t.Errorf("launched %v, errors %v, want %s", ids(out), out.Errors, want)
		}
	}
	remove(group, "")
	fails("InvalidGroup.NotFound")
	remove(x86, "")
	fails("InvalidAMIID.NotFound")
	if out, err := w.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{}); err != nil || len(out.SecurityGroups) != 0 {
		t.Errorf("there are %d security groups, error %v", len(out.SecurityGroups), err)
	}
}
