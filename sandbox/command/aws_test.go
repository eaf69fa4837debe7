package command

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/sandbox/aws"
)

// call runs a command line against an AWS, and returns what it printed and its error.
func call(t *testing.T, s *aws.Server, args ...string) (string, error) {
	t.Helper()
	cmd := New()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(append(args, "--endpoint-url", s.URL))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func serve(t *testing.T) (*aws.Server, *ec2.Client) {
	t.Helper()
	s, err := aws.Serve(aws.ServerConfig{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	key := sdk.CredentialsProviderFunc(func(context.Context) (sdk.Credentials, error) {
		return sdk.Credentials{AccessKeyID: aws.ControllerKey, SecretAccessKey: "secret"}, nil
	})
	return s, ec2.NewFromConfig(sdk.Config{Region: aws.Region, BaseEndpoint: &s.URL, Credentials: key, RetryMaxAttempts: 1})
}

func launch(ctx context.Context, c *ec2.Client) (string, error) {
	out, err := c.RunInstances(ctx, &ec2.RunInstancesInput{
		InstanceType: "m5.large", ImageId: sdk.String(aws.OwnImage), MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1),
		InstanceMarketOptions: &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot},
	})
	if err != nil {
		return "", err
	}
	return *out.Instances[0].InstanceId, nil
}

func TestAnAWSThatRunsIsScripted(t *testing.T) {
	s, client := serve(t)
	id, err := launch(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		line, says string
		then       func() string
		want       string
	}{
		{line: "aws instances", says: id},
		{line: "aws calls", says: "ec2:RunInstances"},
		{line: "inject aws spot " + id + " --notice 1h", then: func() string {
			out, err := client.DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{})
			if err != nil {
				return err.Error()
			}
			return *out.SpotInstanceRequests[0].Status.Code
		}, want: "marked-for-termination"},
		{line: "inject aws rebalance " + id},
		{line: "inject aws maintenance " + id + " --code Reboot --in 1h", then: status(t, client), want: "system-reboot ok"},
		{line: "inject aws check " + id + " system", then: status(t, client), want: "system-reboot impaired"},
		{line: "inject aws capacity m5.large/*/spot 1", then: again(t, client), want: "InsufficientInstanceCapacity"},
		{line: "inject aws capacity m5.large/*/spot 1 MaxSpotInstanceCountExceeded", then: again(t, client), want: "MaxSpotInstanceCountExceeded"},
		{line: "inject aws capacity m5.large/*/spot unlimited"},
		{line: "inject aws throttle RunInstances 0.001", then: func() string { _ = again(t, client)(); return again(t, client)() }, want: "RequestLimitExceeded"},
		{line: "inject aws throttle"},
		{line: "inject aws fault ec2:RunInstances InternalError", then: again(t, client), want: "InternalError"},
		{line: "inject aws fault --clear", then: again(t, client), want: "launched"},
		{line: "inject aws policies ../../deploy/iam/queue.json", then: again(t, client), want: "UnauthorizedOperation"},
		{line: "inject aws policies", then: again(t, client), want: "launched"},
		{line: "inject aws reservation cr-1 m5.large us-east-1a 2 --tag team=ml", then: reservation(t, client), want: "active 2 team=ml"},
		{line: "inject aws reservation cr-1 m5.large us-east-1a 0 --ends 1h", then: reservation(t, client), want: "active 0"},
		{line: "inject aws reservation cr-1 m5.large us-east-1a 2 --ends -1s", then: reservation(t, client), want: "expired 0"},
		{line: "inject aws group near partition --partitions 3", then: func() string {
			out, err := client.DescribePlacementGroups(t.Context(), &ec2.DescribePlacementGroupsInput{GroupNames: []string{"near"}})
			if err != nil {
				return err.Error()
			}
			return fmt.Sprint(*out.PlacementGroups[0].PartitionCount)
		}, want: "3"},
		{line: "inject aws health " + id},
		{line: "inject aws health vol-1"},
		{line: "inject aws fail " + id},
	} {
		out, err := call(t, s, strings.Fields(row.line)...)
		if err != nil || !strings.Contains(out, row.says) {
			t.Errorf("%s: %q, %v", row.line, out, err)
		}
		if row.then != nil {
			if got := row.then(); !strings.Contains(got, row.want) {
				t.Errorf("after %s: %q, want %q", row.line, got, row.want)
			}
		}
	}
	if n := s.SQS.Counts(aws.DefaultCluster).Waiting; n != 5 {
		t.Errorf("%d messages wait, want those of the interruption, the rebalance, the maintenance and AWS Health", n)
	}
}

// status is what EC2 schedules, and how the system's check is.
func status(t *testing.T, client *ec2.Client) func() string {
	return func() string {
		out, err := client.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{IncludeAllInstances: sdk.Bool(true)})
		if err != nil {
			return err.Error()
		}
		return string(out.InstanceStatuses[0].Events[0].Code) + " " + string(out.InstanceStatuses[0].SystemStatus.Status)
	}
}

// reservation is the state of the one reservation, its room and its tags.
func reservation(t *testing.T, client *ec2.Client) func() string {
	return func() string {
		out, err := client.DescribeCapacityReservations(t.Context(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{"cr-1"}})
		if err != nil {
			return err.Error()
		}
		r := out.CapacityReservations[0]
		text := fmt.Sprint(r.State, " ", *r.AvailableInstanceCount)
		for _, tag := range r.Tags {
			text += " " + *tag.Key + "=" + *tag.Value
		}
		return text
	}
}

// again launches once more.
func again(t *testing.T, client *ec2.Client) func() string {
	return func() string {
		if _, err := launch(t.Context(), client); err != nil {
			return err.Error()
		}
		return "launched"
	}
}

func TestWhatMakesNoSenseToAnAWSIsRefused(t *testing.T) {
	s, _ := serve(t)
	for line, want := range map[string]string{
		"inject aws spot i-1":                               "no instance is called i-1",
		"inject aws capacity m5.large many":                 "is neither a number of instances nor unlimited",
		"inject aws capacity a/b/c/d 1":                     "is not a pattern",
		"inject aws capacity m5.larg 1":                     "EC2 sells nothing that fits m5.larg/*/*",
		"inject aws throttle RunInstances":                  "how many calls per second?",
		"inject aws throttle RunInstances NaN":              "is not a number of calls per second",
		"inject aws throttle RunInstance 1":                 "EC2 has no action of this name",
		"inject aws fault CreateFleet":                      "CreateFleet: no action that is played here has this name",
		"inject aws fault ec2:CreateFleet --times -1":       "must not be negative",
		"inject aws fault ec2:CreateFleet --hold -1s":       "must not be negative",
		"inject aws policies no-such-file":                  "no such file",
		"inject aws reservation cr-1 m5.large eu-1a 1":      "EC2 does not sell m5.large in eu-1a",
		"inject aws reservation mine m5.large us-east-1a 1": "is not the ID of a reservation",
		"inject aws reservation cr-1 m5.large us-east-1a x": "is not a number of instances",
		"inject aws group near star":                        "is not a strategy; it is one of [cluster partition spread]",
		"inject aws group near partition --partitions 9":    "a group has 1 to 7 partitions, not 9",
		"inject aws health i-1":                             "no instance is called i-1",
		"inject aws fault":                                  "which action",
		"inject aws maintenance ip-10-0-0-4.ec2.internal":   "no instance is called ip-10-0-0-4.ec2.internal",
	} {
		if _, err := call(t, s, strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
