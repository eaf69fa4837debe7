package ec2test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/chance"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/reserve"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/vpc"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/cloud/ec2"
)

// Config is what there is at first.
type Config struct {
	// Clock is the emulator's time.
	Clock clock.PassiveClock
	// Seed chooses IDs, spot prices and the depth of spot pools.
	Seed uint64
	// Account is 12 digits.
	Account, Region string
	// Types are sold in every zone.
	Types []ec2.Type
	// Network is the zones, subnets and security groups, as vpc.Default makes them.
	Network vpc.Network
	// Images can be launched.
	Images []Image
	// Profile says whether EC2 knows an instance profile of this name or ARN; nil is yes
	// to all.
	Profile func(nameOrARN string) bool
	Delays  Delays
}

// Delays are how long things take. They may be changed while the emulator runs.
type Delays struct {
	// Boot is the time from launch to running, Shutdown from termination to terminated.
	Boot, Shutdown time.Duration
	// Lag is how long a new instance is not found by DescribeInstances, as EC2's
	// eventual consistency has it: some seconds at times.
	Lag time.Duration
	// Attach and Detach are what volumes need for that.
	Attach, Detach time.Duration
}

// EC2 is one account in one region. It is safe for concurrent use.
type EC2 struct {
	// Reserved are the placement groups and capacity reservations.
	Reserved *reserve.Book

	config Config

	mu        sync.Mutex
	serial    uint64
	delays    Delays
	types     map[string]*ec2.Type
	network   vpc.Network
	images    map[string]*Image
	limits    []limit
	templates map[string]*template
	instances map[string]*instance
	volumes   map[string]*volume
	tags      map[string]map[string]string
	replies   map[string]reply
	addresses map[string]int
	// changed is closed, and made anew, when an instance may have changed.
	changed chan struct{}
}

// New makes an EC2.
func New(c Config) *EC2 {
	e := &EC2{
		config: c, delays: c.Delays, network: c.Network,
		types: map[string]*ec2.Type{}, images: map[string]*Image{}, templates: map[string]*template{},
		instances: map[string]*instance{}, volumes: map[string]*volume{}, changed: make(chan struct{}), tags: map[string]map[string]string{}, replies: map[string]reply{}, addresses: map[string]int{},
	}
	for i := range c.Types {
		e.types[c.Types[i].Name] = &c.Types[i]
	}
	e.Reserved = &reserve.Book{World: e.world()}
	for _, s := range c.Network.Subnets {
		e.tag(s.SubnetId, s.Tags)
	}
	for _, g := range c.Network.SecurityGroups {
		e.tag(g.GroupId, g.Tags)
	}
	for _, i := range c.Images {
		e.addImage(i)
	}
	return e
}

// SetDelays changes how long things take from now on; what is under way keeps its times.
func (e *EC2) SetDelays(d Delays) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.delays = d
}

func (e *EC2) now() time.Time { return e.config.Clock.Now() }

// reply is what a call with an idempotency token was answered.
type reply struct {
	parameters string
	answer     any
}

// errDryRun is what EC2 says when it would have done it.
var errDryRun = &wire.Error{Code: "DryRunOperation", Message: "Request would have succeeded, but DryRun flag is set.", Status: http.StatusPreconditionFailed}

// Handle answers a call.
func (e *EC2) Handle(r *wire.Request) (any, error) {
	h, ok := handlers[r.Operation.Name]
	if !ok {
		return nil, wire.Errorf("InvalidAction", "The action %s is not played here", r.Operation.Name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	dry, _ := r.Input["DryRun"].(bool)
	key := r.Operation.Name + "/" + r.Token()
	if r.Token() != "" {
		if old, ok := e.replies[key]; ok && !dry {
			if old.parameters != r.Parameters() {
				return nil, wire.Errorf("IdempotentParameterMismatch", "The client token %s was used by a request with other parameters.", r.Token())
			}
			return old.answer, nil
		}
	}
	answer, err := h(e, r.Input)
	if !strings.HasPrefix(r.Operation.Name, "Describe") {
		e.touch()
	}
	if err == nil && dry {
		return nil, errDryRun
	}
	if err == nil && r.Token() != "" {
		e.replies[key] = reply{r.Parameters(), answer}
	}
	return answer, err
}

// handler answers an action; the lock is held. With DryRun it must change nothing.
type handler func(e *EC2, tree map[string]any) (any, error)

// on makes a handler of a function that takes the input as a Go value.
func on[In any](do func(e *EC2, in In) (any, error)) handler {
	return func(e *EC2, tree map[string]any) (any, error) {
		var in In
		if err := wire.Bind(tree, &in); err != nil {
			return nil, err
		}
		return do(e, in)
	}
}

// handlers are all actions that are played.
var handlers = map[string]handler{
	"AttachVolume":                   on(attachVolume),
	"CreateFleet":                    on(createFleet),
	"CreateLaunchTemplate":           on(createLaunchTemplate),
	"CreateTags":                     on(createTags),
	"CreateVolume":                   on(createVolume),
	"DeleteLaunchTemplate":           on(deleteLaunchTemplate),
	"DeleteTags":                     on(deleteTags),
	"DeleteVolume":                   on(deleteVolume),
	"DescribeAvailabilityZones":      on(describeAvailabilityZones),
	"DescribeCapacityReservations":   on(func(e *EC2, in reserve.ReservationsQuery) (any, error) { return e.Reserved.Reservations(in) }),
	"DescribeImages":                 on(describeImages),
	"DescribeInstanceStatus":         on(describeInstanceStatus),
	"DescribeInstanceTypeOfferings":  on(describeInstanceTypeOfferings),
	"DescribeInstanceTypes":          on(describeInstanceTypes),
	"DescribeInstances":              on(describeInstances),
	"DescribeLaunchTemplateVersions": on(describeLaunchTemplateVersions),
	"DescribeLaunchTemplates":        on(describeLaunchTemplates),
	"DescribePlacementGroups":        on(func(e *EC2, in reserve.GroupsQuery) (any, error) { return e.Reserved.Groups(in) }),
	"DescribeSecurityGroups":         on(describeSecurityGroups),
	"DescribeSpotInstanceRequests":   on(describeSpotInstanceRequests),
	"DescribeSpotPriceHistory":       on(describeSpotPriceHistory),
	"DescribeSubnets":                on(describeSubnets),
	"DescribeVolumes":                on(describeVolumes),
	"DetachVolume":                   on(detachVolume),
	"ModifyInstanceAttribute":        on(modifyInstanceAttribute),
	"RebootInstances":                on(rebootInstances),
	"RunInstances":                   runInstances,
	"StartInstances":                 on(startInstances),
	"StopInstances":                  on(stopInstances),
	"TerminateInstances":             on(terminateInstances),
}

// id makes the ID of something new.
func (e *EC2) id(prefix string) string {
	e.serial++
	return fmt.Sprintf("%s-%08x%09x", prefix, uint32(chance.Hash(e.config.Seed, prefix)), e.serial)
}
