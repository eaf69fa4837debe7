package aws

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/events"
	"github.com/millwright-dev/millwright/cloud/aws/queue"
	"github.com/millwright-dev/millwright/cloud/aws/rights"
	"github.com/millwright-dev/millwright/cloud/aws/status"
)

// Rights remembers which calls AWS refuses.
type Rights = rights.Record

// Config says which sources there are. Errors of Announcements name the fields by
// the flags of millwright run.
type Config struct {
	// Queue is the name or the URL of the SQS queue; empty is none. DeadLetterQueue,
	// likewise, gets the messages that do not count; if empty they stay in the queue
	// until its redrive policy or its retention takes them.
	Queue, DeadLetterQueue string
	// Account and Region are those that messages must be from: 12 digits, and such as
	// eu-west-1. Empty: the account of the queue's URL, and the region of that URL or
	// of the environment.
	Account, Region string
	// MaxAge is how old a message may be; positive if there is a queue.
	MaxAge time.Duration
	// StatusEvery is how often EC2's API is asked what stands; zero is never.
	StatusEvery time.Duration
	// Endpoint is the URL at which all of AWS is found instead of its own; empty is its
	// own.
	Endpoint string
	// Rights is told which calls the credentials do not allow; nil tells it nothing.
	Rights *Rights
	// Machine reports whether a text can be the name of a machine; nil knows the IDs of
	// EC2 instances.
	Machine func(string) bool
}

var (
	account = regexp.MustCompile(`^[0-9]{12}$`)
	region  = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]+$`)
)

// Announcements makes the sources. It does not call AWS: what is wrong there shows
// when they are used.
func Announcements(ctx context.Context, c Config) (cloud.Announcements, error) {
	none := cloud.Announcements{}
	if c.Queue == "" && c.StatusEvery == 0 {
		return none, c.withoutSources()
	}
	if err := c.check(); err != nil {
		return none, err
	}
	if c.Region == "" {
		c.Region = queue.RegionOf(c.Queue)
	}
	sdk, err := c.load(ctx)
	if err != nil {
		return none, err
	}
	out := cloud.Announcements{Every: c.StatusEvery}
	if c.StatusEvery > 0 {
		out.Inspector = status.New(sdk)
	}
	if c.Queue == "" {
		return out, nil
	}
	out.Queue, err = queue.New(queue.Config{
		AWS: sdk, Queue: c.Queue, DeadLetter: c.DeadLetterQueue,
		Reader: events.Reader{Account: c.Account, Region: sdk.Region, MaxAge: c.MaxAge, Machine: c.Machine},
	})
	return out, err
}

// metadataTimeout bounds the question for the region: elsewhere than on EC2 nothing answers.
const metadataTimeout = 10 * time.Second

// load reads the configuration of AWS. A machine of EC2 knows its region.
func (c Config) load(ctx context.Context) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{config.WithAppID("millwright")}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if c.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(c.Endpoint))
	}
	sdk, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return sdk, fmt.Errorf("reading the configuration of AWS: %w", err)
	}
	if c.Rights != nil {
		c.Rights.Watch(&sdk)
	}
	if sdk.Region == "" {
		ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
		defer cancel()
		found, err := imds.NewFromConfig(sdk).GetRegion(ctx, nil)
		if err != nil {
			return sdk, fmt.Errorf("--aws-region: required; neither the queue's URL nor the configuration of AWS names a region, and the instance metadata do not answer; on EC2, allow pods a hop limit of 2: %w", err)
		}
		sdk.Region = found.Region
	}
	return sdk, nil
}

// withoutSources refuses settings that only mean something with a source.
func (c Config) withoutSources() error {
	if c.DeadLetterQueue != "" {
		return errors.New("--interruption-dead-letter-queue: set without --interruption-queue")
	}
	return nil
}

func (c Config) check() error {
	switch {
	case c.DeadLetterQueue != "" && c.Queue == "":
		return c.withoutSources()
	case c.DeadLetterQueue != "" && c.DeadLetterQueue == c.Queue:
		return fmt.Errorf("--interruption-dead-letter-queue: %s is the queue itself", c.Queue)
	case c.Account != "" && !account.MatchString(c.Account):
		return fmt.Errorf("--aws-account-id: %q is not 12 digits", c.Account)
	case c.Region != "" && !region.MatchString(c.Region):
		return fmt.Errorf("--aws-region: %q is not a region, such as eu-west-1", c.Region)
	case c.Queue != "" && c.MaxAge <= 0:
		return fmt.Errorf("--interruption-max-age: must be positive, not %v", c.MaxAge)
	case c.StatusEvery < 0 || c.StatusEvery > 0 && c.StatusEvery < 10*time.Second:
		return fmt.Errorf("--instance-status-interval: must be 0, for never, or at least 10s, not %v", c.StatusEvery)
	}
	if c.Endpoint != "" {
		if u, err := url.Parse(c.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("--aws-endpoint-url: %q is not an http or https URL", c.Endpoint)
		}
	}
	return nil
}
