package awstest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// message takes one message from the queue and shows it.
func (w *world) message() string {
	w.t.Helper()
	client, url := sqs.NewFromConfig(w.aws), aws.String("http://any/111122223333/events")
	out, err := client.ReceiveMessage(w.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 5})
	if err != nil || len(out.Messages) == 0 {
		w.t.Fatalf("no message, %v", err)
	}
	if _, err := client.DeleteMessage(w.t.Context(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: out.Messages[0].ReceiptHandle}); err != nil {
		w.t.Fatal(err)
	}
	var m struct {
		DetailType string `json:"detail-type"`
		Detail     map[string]any
	}
	if err := json.Unmarshal([]byte(*out.Messages[0].Body), &m); err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprint(m.DetailType, m.Detail)
}

func TestASpotInstanceIsTakenBackAfterItsNotice(t *testing.T) {
	w := newWorld(t, awstest.Config{Queues: []string{"events"}})
	w.template("nodes")
	states := make(chan string)
	go w.Follow(t.Context(), func(i ec2test.Instance) { states <- i.State + i.Reason })
	next := func(want string) {
		t.Helper()
		select {
		case got := <-states:
			if got != want {
				t.Fatalf("%q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("never %q", want)
		}
		if change, state := w.message(), strings.Split(want, "Server")[0]; !strings.Contains(change, "State-change") || !strings.Contains(change, "state:"+state) {
			t.Errorf("%s is announced as %s", want, change)
		}
	}
	// The follower must wait for the clock before the clock moves.
	step := func(d time.Duration) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !w.clock.HasWaiters() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		w.clock.Step(d)
	}
	id := ids(w.fleet(fleetInput("nodes", types.DefaultTargetCapacityTypeSpot, 1, "m5.large/a")))[0]
	next("pending")
	step(10 * time.Second)
	next("running")
	if err := w.Interrupt(id, awstest.SpotNotice); err != nil {
		t.Fatal(err)
	}
	if got := w.message(); !strings.Contains(got, "Interruption Warning") || !strings.Contains(got, id) {
		t.Errorf("announced as %s", got)
	}
	if state := w.instance(id).State.Name; state != "running" {
		t.Errorf("before the notice is over it is %s", state)
	}
	step(2 * time.Minute)
	const reason = "Server.SpotInstanceTermination: Spot instance termination"
	next("shutting-down" + reason)
	step(30 * time.Second)
	next("terminated" + reason)
	if err := w.Interrupt(id, awstest.SpotNotice); code(err) != "IncorrectInstanceState: The instance '"+id+"' is terminated." {
		t.Errorf("once more: %v", err)
	}
}

func TestFaultsReachTheQueue(t *testing.T) {
	w := newWorld(t, awstest.Config{Queues: []string{"events"}})
	client := sqs.NewFromConfig(w.aws)
	receive := func() error {
		_, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String("http://any/111122223333/events")})
		return err
	}
	w.Inject(awstest.Fault{Action: "sqs:Receive*", Code: "AccessDeniedException", Message: "no", Times: 1})
	if err := receive(); code(err) != "AccessDeniedException" {
		t.Errorf("got %v", err)
	}
	w.Inject(awstest.Fault{Action: "sqs:*", Code: "QueueDoesNotExist", Message: "no"})
	var missing *sqstypes.QueueDoesNotExist
	if err := receive(); !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
	w.ClearFaults()
	if err := receive(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestCallsAreRememberedInTheirOrder(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.template("nodes")
	w.fleet(fleetInput("nodes", types.DefaultTargetCapacityTypeOnDemand, 1, "m5.large/a"))
	if _, err := w.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-0"}}); err == nil {
		t.Error("an instance that does not exist was found")
	}
	var got []string
	for _, c := range w.Record() {
		got = append(got, c.Caller+" "+c.Action+" "+c.Error)
	}
	if want := []string{"AKIDEXAMPLE ec2:CreateLaunchTemplate ", "AKIDEXAMPLE ec2:CreateFleet ", "AKIDEXAMPLE ec2:DescribeInstances InvalidInstanceID.NotFound"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestMaintenanceIsListedAnnouncedAndDone(t *testing.T) {
	w := newWorld(t, awstest.Config{Queues: []string{"events"}})
	w.template("nodes")
	id := ids(w.fleet(fleetInput("nodes", types.DefaultTargetCapacityTypeOnDemand, 1, "m5.large/a")))[0]
	w.clock.Step(time.Minute)
	if err := w.Schedule(id, interruption.Stop, w.clock.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := w.message(); !strings.Contains(got, "AWS Health Event") || !strings.Contains(got, "INSTANCE_STOP") || !strings.Contains(got, id) {
		t.Errorf("announced as %s", got)
	}
	listed := func(filter, value string) int {
		out, err := w.ec2.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{
			Filters: []types.Filter{{Name: &filter, Values: []string{value}}}, IncludeAllInstances: aws.Bool(true),
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.InstanceStatuses)
	}
	if listed("event.code", "instance-stop") != 1 || listed("event.code", "system-reboot") != 0 || listed("system-status.status", "impaired") != 0 {
		t.Error("the event is not listed as it is")
	}
	if err := w.EC2.FailCheck(id, ec2test.SystemCheck); err != nil {
		t.Fatal(err)
	}
	if listed("system-status.status", "impaired") != 1 {
		t.Error("a check that fails is not listed")
	}
	w.clock.Step(time.Hour)
	if state := w.instance(id).State.Name; state != "stopping" {
		t.Errorf("at its time the instance is %s", state)
	}
	w.clock.Step(time.Minute)
	if _, err := w.ec2.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	if listed("event.code", "instance-stop")+listed("system-status.status", "impaired") != 0 {
		t.Error("on other hardware the instance still has its event or its failed check")
	}
}

func TestASpotRequestSaysThatItsInstanceIsTakenBack(t *testing.T) {
	w := newWorld(t, awstest.Config{Queues: []string{"events"}})
	w.template("nodes")
	id := ids(w.fleet(fleetInput("nodes", types.DefaultTargetCapacityTypeSpot, 1, "m5.large/a")))[0]
	w.clock.Step(time.Minute)
	status := func() string {
		out, err := w.ec2.DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{Filters: []types.Filter{{Name: aws.String("instance-id"), Values: []string{id}}}})
		if err != nil || len(out.SpotInstanceRequests) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		return *out.SpotInstanceRequests[0].Status.Code
	}
	story := []string{status()}
	if err := w.Interrupt(id, awstest.SpotNotice); err != nil {
		t.Fatal(err)
	}
	story = append(story, status())
	w.clock.Step(awstest.SpotNotice)
	story = append(story, status())
	if want := []string{"fulfilled", "marked-for-termination", "instance-terminated-no-capacity"}; !slices.Equal(story, want) {
		t.Errorf("%q, want %q", story, want)
	}
}

func TestAReplyCanBeHeldBack(t *testing.T) {
	w := newWorld(t, awstest.Config{})
	w.template("nodes")
	w.Inject(awstest.Fault{Action: "ec2:CreateFleet", Hold: time.Hour, Times: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := w.ec2.CreateFleet(ctx, fleetInput("nodes", types.DefaultTargetCapacityTypeOnDemand, 1, "m5.large/a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("answered %v", err)
	}
	if list, _, _ := w.EC2.Instances(); len(list) != 1 {
		t.Errorf("%d instances were started", len(list))
	}
}
