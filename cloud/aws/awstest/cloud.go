package awstest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/vpc"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/iamtest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/cloud/aws/sqstest"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// Config is what there is at first. Everything may be left out.
type Config struct {
	// Clock is the emulator's time; nil is the real one.
	Clock clock.Clock
	// Seed chooses whatever looks random.
	Seed uint64
	// Account is 12 digits, empty is 111122223333; Region empty is us-east-1.
	Account, Region string

	// Cluster is the EKS cluster's name, empty is demo. Version is Kubernetes', empty is
	// 1.35; it also decides which images there are. Endpoint and CA, PEM, are those of its
	// API server. ServiceCIDR empty is 10.100.0.0/16.
	Cluster, Version, Endpoint, ServiceCIDR string
	CA                                      []byte

	// Types are sold; nil is the table of package cloud/ec2.
	Types []ec2.Type
	// Network is nil for vpc.Default.
	Network *vpc.Network
	// Images can be launched, in addition to those that AWS publishes for EKS.
	Images []ec2test.Image
	// Policies are AWS's own that are attached to each role, by name.
	Policies []string
	// Roles and Profiles exist in IAM, by name; nil is one role and one profile, nodes.
	Roles, Profiles []string
	// ProfileLag is how long EC2 does not know a new instance profile.
	ProfileLag time.Duration
	Delays     ec2test.Delays
	// Queues are those of SQS; the first gets what EventBridge tells of.
	Queues []string
}

func (c *Config) complete() error {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	c.Account, c.Region = cmp.Or(c.Account, "111122223333"), cmp.Or(c.Region, "us-east-1")
	c.Cluster, c.Version = cmp.Or(c.Cluster, "demo"), cmp.Or(c.Version, "1.35")
	c.Endpoint, c.ServiceCIDR = cmp.Or(c.Endpoint, "https://eks.invalid"), cmp.Or(c.ServiceCIDR, "10.100.0.0/16")
	if c.Types == nil {
		types, err := ec2.Types()
		if err != nil {
			return err
		}
		c.Types = types
	}
	if c.Network == nil {
		n := vpc.Default(c.Region, c.Cluster)
		c.Network = &n
	}
	if c.Roles == nil {
		c.Roles = []string{"nodes"}
	}
	if c.Profiles == nil {
		c.Profiles = []string{"nodes"}
	}
	return nil
}

// Cloud is an http.Handler. It is safe for concurrent use.
type Cloud struct {
	EC2 *ec2test.EC2
	IAM *iamtest.IAM
	SQS *sqstest.Server

	config   Config
	guard    guard
	services map[string]wire.Handler
	ssm      ssm
	arc      arc

	mu      sync.Mutex
	serial  int
	events  int
	record  []Call
	limits  map[string]Limit
	buckets map[string]*bucket
	faults  []*Fault
	calls   map[string]count
}

// New makes a Cloud.
func New(config Config) (*Cloud, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	c := &Cloud{config: config, ssm: ssm{region: config.Region, values: map[string]string{}}, calls: map[string]count{}}
	images := slices.Clip(config.Images)
	for _, v := range variants(config.Version) {
		images = append(images, v.image())
		for _, name := range v.parameters {
			c.ssm.values[name] = v.id
		}
	}
	c.IAM = iamtest.New(iamtest.Config{Clock: config.Clock, Account: config.Account, Roles: config.Roles, Policies: config.Policies, Profiles: config.Profiles, Lag: config.ProfileLag})
	c.EC2 = ec2test.New(ec2test.Config{
		Clock: config.Clock, Seed: config.Seed, Account: config.Account, Region: config.Region,
		Types: config.Types, Network: *config.Network, Images: images, Profile: c.IAM.KnownToEC2, Delays: config.Delays,
	})
	c.SQS = sqstest.New(sqstest.Config{Queues: config.Queues, Account: config.Account, Seed: config.Seed})
	c.services = map[string]wire.Handler{
		"ec2": c.EC2.Handle, "iam": c.IAM.Handle, "sts": c.IAM.Handle,
		"ssm:GetParameter": wire.Handle(c.ssm.get), "ssm:GetParameters": wire.Handle(c.ssm.getAll),
		"sqs": c.SQS.Handle, "eks": wire.Handle(c.cluster), "pricing": wire.Handle(c.products), "arc-zonal-shift": wire.Handle(c.managedResource),
	}
	return c, nil
}

// ServeHTTP is http.Handler's.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call, err := wire.Read(r)
	fault, refused := c.admit(call)
	if err == nil {
		err = refused
	}
	if fault != nil && fault.Code != "" {
		err = &wire.Error{Code: fault.Code, Message: fault.Message, Status: fault.Status}
	}
	var answer any
	if err == nil {
		answer, err = c.answer(call)
	}
	c.note(call, answer, err)
	if fault != nil && fault.Hold > 0 {
		c.hold(r.Context(), fault.Hold)
	} else if fault != nil && fault.Code == "" {
		panic(http.ErrAbortHandler) // what net/http provides for breaking off
	}
	wire.Write(w, call, answer, err)
}

// hold waits for a while, at most until the caller goes away.
func (c *Cloud) hold(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-c.config.Clock.After(d):
	}
}

// admit counts a call, and says what befalls it.
func (c *Cloud) admit(call *wire.Request) (*Fault, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	call.ID = fmt.Sprintf("00000000-0000-4000-8000-%012d", c.serial)
	if call.Operation == nil {
		return nil, nil
	}
	action := call.Service.Name + ":" + call.Operation.Name
	err := c.throttled(call.Service.Name, call.Operation.Name)
	c.counted(action, err != nil)
	if err != nil {
		return nil, err
	}
	return c.fault(action), nil
}

func (c *Cloud) answer(call *wire.Request) (any, error) {
	if err := c.authorize(call); err != nil {
		return nil, err
	}
	for _, key := range []string{call.Service.Name, call.Service.Name + ":" + call.Operation.Name} {
		if handle := c.services[key]; handle != nil {
			return handle(call)
		}
	}
	return nil, wire.Errorf("InvalidAction", "%s of %s is not played here", call.Operation.Name, call.Service.Name)
}
