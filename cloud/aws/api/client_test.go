package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/selector"
)

// Errors go into conditions, which change only if the error does.
func TestAnErrorReadsTheSameAfterEachAttempt(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You may not. Encoded authorization failure message: 4GIOHlTkI%d</Message></Error></Errors><RequestID>id-%d</RequestID></Response>", asked, asked)
	}))
	defer server.Close()
	c := New(aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}})
	said := map[string]bool{}
	for range 2 {
		_, err := c.Reservations(t.Context(), selector.Query{Filters: []selector.Filter{{Name: "state", Values: []string{"active"}}}}, time.Now())
		var denied *cloud.UnauthorizedError
		var fault smithy.APIError
		if !errors.As(err, &denied) || !errors.As(err, &fault) || !strings.Contains(err.Error(), "You may not") {
			t.Fatalf("the error is %v", err)
		}
		said[err.Error()] = true
	}
	if asked != 2 || len(said) != 1 {
		t.Errorf("asked %d times, the errors are %v", asked, said)
	}
}

// The SDK gives up after three attempts, or sooner when many calls have failed.
func TestAnErrorReadsTheSameHoweverOftenTheCallWasMade(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error></Errors><RequestID>id</RequestID></Response>")
	}))
	defer server.Close()
	retryer := retry.NewStandard(func(o *retry.StandardOptions) {
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		o.RateLimiter = ratelimit.NewTokenRateLimit(2 * retry.DefaultRetryCost)
	})
	c := New(aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}, Retryer: func() aws.Retryer { return retryer }})
	for range 2 {
		_, err := c.Reservations(t.Context(), selector.Query{Filters: []selector.Filter{{Name: "state", Values: []string{"active"}}}}, time.Now())
		const want = "throttled: operation error EC2: DescribeCapacityReservations, https response error StatusCode: 503, api error RequestLimitExceeded: Request limit exceeded."
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestTheMachinesAreKnownBecauseOfWhichEC2RefusesToEndOthers(t *testing.T) {
	for said, want := range map[string]string{
		"InvalidInstanceID.NotFound/The instance IDs 'i-0a1, i-0a2' do not exist":                                                                                              "i-0a1 i-0a2",
		"InvalidInstanceID.NotFound/The instance ID 'i-0a2' does not exist":                                                                                                    "i-0a2",
		"InvalidInstanceID.Malformed/Invalid id: &quot;i-0a1&quot;":                                                                                                            "i-0a1",
		"OperationNotPermitted/The instance 'i-0a' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.":                                "i-0a",
		"UnauthorizedOperation/You are not authorized. User: u is not authorized to perform: ec2:TerminateInstances on resource: arn:aws:ec2:us-east-1:1:instance/i-0a1 as so": "i-0a1",
		"UnauthorizedOperation/You are not authorized to perform this operation.":                                                                                              "",
		"OperationNotPermitted/The instance 'i-0b' may not be terminated.":                                                                                                     "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			code, message, _ := strings.Cut(said, "/")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>i-0a</RequestID></Response>", code, message)
		}))
		c := New(aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}})
		_, named, err := c.Terminate(t.Context(), []string{"i-0a", "i-0a1", "i-0a2", "i-0a3"})
		if got := strings.Join(named, " "); err == nil || got != want {
			t.Errorf("%s: %q, want %q, error %v", said, got, want, err)
		}
		server.Close()
	}
}

// EC2 counts no GPUs of machines with one of a board, and of fractions, which no pod that asks for a
// GPU means.
func TestAWholeGPUCountsAlsoWhereEC2CountsNone(t *testing.T) {
	for name, want := range map[string]struct {
		gpu   types.GpuDeviceInfo
		count int64
	}{
		"p5.48xlarge": {types.GpuDeviceInfo{Count: new(int32(8)), LogicalGpuCount: new(int32(8)), GpuPartitionSize: new(1.0)}, 8},
		"p5.4xlarge":  {types.GpuDeviceInfo{Count: new(int32(0)), LogicalGpuCount: new(int32(1)), GpuPartitionSize: new(1.0)}, 1},
		"g6f.large":   {types.GpuDeviceInfo{Count: new(int32(0)), LogicalGpuCount: new(int32(1)), GpuPartitionSize: new(0.125)}, 0},
		"g5.xlarge":   {types.GpuDeviceInfo{Count: new(int32(1))}, 1},
	} {
		got := typeInfo(&types.InstanceTypeInfo{InstanceType: types.InstanceType(name), GpuInfo: &types.GpuInfo{Gpus: []types.GpuDeviceInfo{want.gpu}}})
		if len(got.GPUs) != 1 || got.GPUs[0].Count != want.count {
			t.Errorf("of %s there are %+v, want %d", name, got.GPUs, want.count)
		}
	}
}
