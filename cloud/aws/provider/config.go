package provider

import (
	"context"
	"sync"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/expression"
	"github.com/millwright-dev/millwright/cloud/aws/instances"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/network"
	"github.com/millwright-dev/millwright/cloud/aws/nodeclass"
	"github.com/millwright-dev/millwright/cloud/aws/price"
	"github.com/millwright-dev/millwright/cloud/aws/userdata"
)

// TokenTag is the key of the tag that holds a launch's token: the NodeClaim's UID.
const TokenTag = "millwright.dev/nodeclaim-uid"

// HashTag is the key of the tag that holds the hash of the spec from which a machine was launched,
// as VERSION/HASH: the class may be another once the launch is on record.
const HashTag = "millwright.dev/ec2nodeclass-hash"

// Config is what a provider needs; every field without another word is required.
type Config struct {
	// AWS calls AWS.
	AWS *api.Client
	// Reader reads EC2NodeClasses; a cached one will do.
	Reader client.Reader
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Region is where machines are launched.
	Region string
	// Cluster is what machines join.
	Cluster userdata.Cluster
	// Kubernetes is the version of the control plane, such as 1.34. Version asks for it again: a
	// control plane is upgraded while it runs, and Nodes follow; nil asks never.
	Kubernetes string
	Version    func(context.Context) (string, error)
	// IPv6 says that pods have addresses of that family.
	IPv6 bool
	// Prices may be shared with what shows them.
	Prices *price.Book
	// Settings are those that hold for the Nodes of all classes.
	instancetype.Settings
	// Expressions evaluates those of spec.kubelet; nil refuses a class that has any
	// [AWS_FEATURE_GATES: NodeClassCEL].
	Expressions *expression.Evaluator
	// RebootForRepair has machines rebooted whose accelerators have failed in a way that a reboot may
	// mend [AWS_FEATURE_GATES: RebootForRepair].
	RebootForRepair bool
	// OpenReservations lets on-demand machines run in open capacity reservations, of classes that do
	// not say whether they may [FEATURE_GATES: ReservedCapacity=false].
	OpenReservations bool
	// Isolated says that neither the Pricing API nor IAM can be reached [ISOLATED_VPC].
	Isolated bool
	// ClusterARN is the cluster's name in ARC, to follow its zonal shifts; empty follows none
	// [ENABLE_ZONAL_SHIFT].
	ClusterARN string
	// Window is how long a question about one machine waits for others; zero only for what
	// is under way.
	Window time.Duration
	// NoDryRun keeps a class's status from saying whether EC2 would allow its launches
	// [DISABLE_DRY_RUN].
	NoDryRun bool
	// Missing tells which calls AWS has refused for lack of a right; nil if it is not known.
	Missing func() []string
	// Held tells which calls wait because AWS refuses more of them as too frequent; nil if it is not
	// known.
	Held func() []string
	// Discover is set if AWS refused to tell of the cluster: it asks once more. Until a new
	// process knows the cluster no class is ready, and Run ends once there is an answer.
	Discover func(context.Context) error
	// Observe keeps Run from deleting launch templates.
	Observe bool
}

// Provider is EC2 as Millwright's cloud. It is safe for concurrent use.
type Provider struct {
	Config
	market    market
	addresses network.Addresses
	soldOut   soldOut
	attempts  attempts
	shifts    shifts
	tried     tried
	seen      sightings
	version   version
	templates uses
	profiles  uses
	resolver  *nodeclass.Resolver
	machines  *instances.Machines

	mu      sync.Mutex
	classes map[string]catalogued
}

var _ cloud.Provider = (*Provider)(nil)

// New makes a provider. It knows nothing yet: see Refresh.
func New(c Config) *Provider {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	p := &Provider{
		Config: c, classes: map[string]catalogued{},
		soldOut:   soldOut{clock: c.Clock, until: map[soldOutKey]refusal{}},
		attempts:  attempts{byToken: map[string]*attempt{}},
		templates: uses{known: map[string]time.Time{}},
		profiles:  uses{known: map[string]time.Time{}},
		version:   version{asked: c.Clock.Now()},
	}
	p.version.text.Store(c.Kubernetes)
	p.machines = instances.New(instances.Config{AWS: c.AWS, Clock: c.Clock, Window: c.Window, Tags: map[string]string{
		ec2class.NodePoolTagKey: "", ec2class.NodeClassTagKey: "", ec2class.EKSClusterNameTagKey: c.Cluster.Name,
	}})
	p.resolver = nodeclass.New(nodeclass.Config{
		AWS: c.AWS, Clock: c.Clock, Region: c.Region, Cluster: c.Cluster.Name, Kubernetes: p.version.read,
		Addresses: &p.addresses, Check: p.check, MayLaunch: p.mayLaunch, Missing: c.Missing, Held: c.Held,
		Prices: func() (reason, message string) { return c.Prices.Doubt(c.Clock.Now()) },
	})
	return p
}
