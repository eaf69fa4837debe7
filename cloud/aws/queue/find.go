package queue

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/fleet"
)

var (
	queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
	account   = regexp.MustCompile(`^[0-9]{12}$`)
	host      = regexp.MustCompile(`^(?:sqs\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.amazonaws\.com(?:\.cn)?$`)
)

func isURL(name string) bool { return strings.Contains(name, "://") }

// checkName refuses what is neither the name nor the URL of a queue; empty is fine.
func checkName(name string) error {
	switch {
	case name == "":
		return nil
	case strings.HasSuffix(name, ".fifo"):
		return fmt.Errorf("%s is a FIFO queue, which EventBridge's rules for interruptions do not fill", name)
	case strings.HasPrefix(name, "arn:"):
		return fmt.Errorf("%s is an ARN; give the name or the URL of the queue", name)
	case !isURL(name) && !queueName.MatchString(name):
		return fmt.Errorf("%q is neither the name nor the URL of a queue", name)
	case isURL(name):
		if u, err := url.Parse(name); err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			return fmt.Errorf("%q is not the URL of a queue, such as https://sqs.eu-west-1.amazonaws.com/111122223333/name", name)
		}
	}
	return nil
}

// RegionOf is the region that a queue's URL names; empty if it does not, or for a
// name.
func RegionOf(name string) string {
	u, err := url.Parse(name)
	if err != nil {
		return ""
	}
	if m := host.FindStringSubmatch(u.Hostname()); m != nil {
		return m[1] + m[2]
	}
	return ""
}

// accountOf is the account that a queue's URL names, empty if it does not.
func accountOf(name string) string {
	u, err := url.Parse(name)
	if err != nil {
		return ""
	}
	for _, part := range strings.Split(u.Path, "/") {
		if account.MatchString(part) {
			return part
		}
	}
	return ""
}

// find asks for the URLs of queues that are given by name, once.
func (q *Queue) find(ctx context.Context) (*source, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.source != nil {
		return q.source, nil
	}
	s := &source{reader: q.config.Reader}
	var err error
	if s.url, err = q.urlOf(ctx, q.config.Queue); err != nil {
		return nil, err
	}
	if s.deadLetter, err = q.urlOf(ctx, q.config.DeadLetter); err != nil {
		return nil, err
	}
	if s.reader.Account == "" {
		s.reader.Account = accountOf(s.url)
	}
	if s.reader.Account == "" {
		return nil, fmt.Errorf("--aws-account-id: required; the queue's URL %s does not name the account", s.url)
	}
	q.source = s
	return s, nil
}

func (q *Queue) urlOf(ctx context.Context, name string) (string, error) {
	if name == "" || isURL(name) {
		return name, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	out, err := q.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", q.explain("sqs:GetQueueUrl", name, err)
	}
	return aws.ToString(out.QueueUrl), nil
}

// explain makes of an error of the SDK one of the port, with the queue's name.
func (q *Queue) explain(action, name string, err error) error {
	var missing *types.QueueDoesNotExist
	var api smithy.APIError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("the queue %s does not exist in region %s, or its account does not let us see it: %w", name, q.config.AWS.Region, err)
	case !errors.As(err, &api):
		return fmt.Errorf("%s on queue %s: %w", action, name, err)
	}
	if _, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]; throttled {
		return &cloud.ThrottledError{Err: fmt.Errorf("queue %s: %w", name, err)}
	}
	if meaning, _ := fleet.Means(api.ErrorCode(), api.ErrorMessage()); meaning == fleet.Unauthorized {
		return &cloud.UnauthorizedError{Action: action, Err: fmt.Errorf("queue %s: %w", name, err)}
	}
	return fmt.Errorf("%s on queue %s: %w", action, name, err)
}
