package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstime"
)

// Source is that of the events that EC2's API lists.
const Source = "ec2:DescribeInstanceStatus"

// limit is how long one look at EC2 may take.
const limit = 50 * time.Second

// Inspector is a cloud.Inspector. It is safe for concurrent use.
type Inspector struct{ client *ec2.Client }

var _ cloud.Inspector = (*Inspector)(nil)

// New makes an Inspector of an account and region. It does not call AWS.
func New(c aws.Config) *Inspector { return &Inspector{ec2.NewFromConfig(c)} }

// Source is cloud.Inspector's.
func (i *Inspector) Source() string { return Source }

// sweeps are the questions that find every machine that something is wrong with.
var sweeps = []types.Filter{
	{Name: aws.String("event.code"), Values: []string{"instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop"}},
	{Name: aws.String("instance-status.status"), Values: []string{"impaired"}},
	{Name: aws.String("system-status.status"), Values: []string{"impaired"}},
	{Name: aws.String("attached-ebs-status.status"), Values: []string{"impaired"}},
}

// List is cloud.Inspector's.
func (i *Inspector) List(ctx context.Context) ([]cloud.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	seen, now := map[string]types.InstanceStatus{}, time.Time{}
	for _, sweep := range sweeps {
		pages := ec2.NewDescribeInstanceStatusPaginator(i.client, &ec2.DescribeInstanceStatusInput{
			Filters: []types.Filter{sweep}, IncludeAllInstances: aws.Bool(true), MaxResults: aws.Int32(1000),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, explain("ec2:DescribeInstanceStatus", err)
			}
			now = awstime.Of(page.ResultMetadata)
			for _, s := range page.InstanceStatuses {
				seen[aws.ToString(s.InstanceId)] = s
			}
		}
	}
	var out []cloud.Event
	for _, id := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, eventsOf(seen[id], now)...)
	}
	return out, nil
}

// explain makes of an error of the SDK one of the port.
func explain(action string, err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fmt.Errorf("%s: %w", action, err)
	}
	if _, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]; throttled {
		return &cloud.ThrottledError{Err: fmt.Errorf("%s: %w", action, err)}
	}
	switch api.ErrorCode() {
	case "UnauthorizedOperation", "AuthFailure", "AccessDenied", "AccessDeniedException", "InvalidClientTokenId", "ExpiredToken", "RequestExpired":
		return &cloud.UnauthorizedError{Action: action, Err: err}
	}
	return fmt.Errorf("%s: %w", action, err)
}
