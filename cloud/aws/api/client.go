package api

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"github.com/millwright-dev/millwright/cloud/aws/fleet"
)

// Client calls AWS in one region. It is safe for concurrent use.
type Client struct {
	ec2     *ec2.Client
	ssm     *ssm.Client
	iam     *iam.Client
	eks     *eks.Client
	arc     *arczonalshift.Client
	pricing *pricing.Client
	pace    *pace // of EC2; nil if the configuration says how calls are retried
}

// New makes a client. Unless the configuration says how calls are retried, each action keeps
// to the rate that AWS turns out to allow.
func New(c aws.Config) *Client {
	machines := c.Copy()
	var ours *pace
	if c.Retryer == nil {
		ours = newPace()
		machines.Retryer = func() aws.Retryer { return ours }
		c.Retryer = func() aws.Retryer { return newPace() }
	}
	prices := c.Copy()
	prices.Region = pricesIn(c.Region)
	return &Client{
		pace: ours,
		ec2:  ec2.NewFromConfig(machines), ssm: ssm.NewFromConfig(c), iam: iam.NewFromConfig(c), eks: eks.NewFromConfig(c),
		arc: arczonalshift.NewFromConfig(c), pricing: pricing.NewFromConfig(prices),
	}
}

// Held says which calls of EC2 have lately waited for long, because AWS refuses more of them as too
// frequent; nil if none has.
func (c *Client) Held() []string {
	if c.pace == nil {
		return nil
	}
	return c.pace.held("ec2")
}

// translate puts an error of a call into the port's words.
func translate(action string, err error) error {
	if err == nil {
		return nil
	}
	m, reason, message := understood(err)
	return fleet.Translate(action, m, reason, message, stable(err))
}

// reworded is an error with another text.
type reworded struct {
	error
	text string
}

func (r *reworded) Error() string { return r.text }
func (r *reworded) Unwrap() error { return r.error }

// stable leaves out of an error's text what may differ with each attempt: the ID of the request, what
// only IAM can read, and why the SDK made no further attempt. A condition with the text would change
// each time.
func stable(err error) error {
	var answer interface{ ServiceRequestID() string }
	if !errors.As(err, &answer) {
		return err
	}
	text := strings.ReplaceAll(err.Error(), "RequestID: "+answer.ServiceRequestID()+", ", "")
	var last *retry.MaxAttemptsError
	if errors.As(err, &last) {
		text = strings.Replace(text, fmt.Sprintf("exceeded maximum number of attempts, %d, ", last.Attempt), "", 1)
	}
	text, _, _ = strings.Cut(text, "\nfailed to get rate limit token, ")
	return &reworded{err, fleet.Plain(text)}
}

// meaning is what an error of AWS means, Unknown for any other.
func meaning(err error) fleet.Meaning {
	m, _, _ := understood(err)
	return m
}

// understood is what an error of AWS means, with Karpenter's word for it and what AWS says. An answer
// that blames the request is a refusal, whatever its code: nothing was done.
func understood(err error) (m fleet.Meaning, reason, message string) {
	var fault smithy.APIError
	if !errors.As(err, &fault) {
		return fleet.Unknown, "", ""
	}
	m, reason = fleet.Means(fault.ErrorCode(), fault.ErrorMessage())
	var answer interface{ HTTPStatusCode() int }
	if m == fleet.Unknown && errors.As(err, &answer) && answer.HTTPStatusCode()/100 == 4 {
		m = fleet.Refused
	}
	return m, reason, fault.ErrorMessage()
}

func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// pointer is nil for the zero value: AWS reads what is empty as a value.
func pointer[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
