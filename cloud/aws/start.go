package aws

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/expression"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/price"
	"github.com/millwright-dev/millwright/cloud/aws/provider"
	"github.com/millwright-dev/millwright/cloud/aws/userdata"
)

// ProviderConfig is how EC2 is used as the cloud. The names in brackets are Karpenter's
// variables for the same thing; errors name the fields by its flags.
type ProviderConfig struct {
	// Config says where AWS is.
	Config
	// Cluster is the cluster's name in tags and in EKS; required [CLUSTER_NAME].
	Cluster string
	// ClusterEndpoint is the API server's URL as machines reach it; empty asks EKS
	// [CLUSTER_ENDPOINT]. CABundle is its certificate authority in base64; empty takes that
	// of the client [CLUSTER_CA_BUNDLE].
	ClusterEndpoint, CABundle string
	// Isolated says that the VPC has no way to the Pricing API and to IAM [ISOLATED_VPC].
	Isolated bool
	// EKSVersion asks EKS for the control plane's version, not the API server
	// [EKS_CONTROL_PLANE].
	EKSVersion bool
	// Settings are those that hold for the Nodes of all classes.
	instancetype.Settings
	// Expressions has those of an EC2NodeClass's spec.kubelet evaluated, for each instance type
	// [AWS_FEATURE_GATES: NodeClassCEL].
	Expressions bool
	// RebootForRepair has machines rebooted whose accelerators have failed in a way that a reboot may
	// mend, where machines are repaired [AWS_FEATURE_GATES: RebootForRepair].
	RebootForRepair bool
	// OpenReservations lets on-demand machines run in open capacity reservations, of classes that do
	// not say whether they may [FEATURE_GATES: ReservedCapacity=false].
	OpenReservations bool
	// ZonalShift follows the cluster's zonal shifts: nothing is launched in a zone that
	// traffic is shifted away from, and it is announced as impaired [ENABLE_ZONAL_SHIFT].
	ZonalShift bool
	// NoDryRun keeps EC2 from being asked whether it would allow the launches of a class
	// [DISABLE_DRY_RUN].
	NoDryRun bool
	// Observe keeps the provider from changing anything in AWS by itself.
	Observe bool

	// window is that of tests, which need not wait; zero is the constant.
	window time.Duration
}

// Check refuses what cannot work.
func (c *ProviderConfig) Check() error {
	if c.Cluster == "" {
		return errors.New("--cluster-name: required with --provider aws")
	}
	if err := c.Settings.Check(); err != nil {
		return err
	}
	if _, err := base64.StdEncoding.DecodeString(c.CABundle); err != nil {
		return fmt.Errorf("--cluster-ca-bundle: is not base64: %w", err)
	}
	return nil
}

// Kubernetes is the cluster that machines join.
type Kubernetes struct {
	// REST is how the API server is reached.
	REST *rest.Config
	// Cached reads EC2NodeClasses, Live the DNS Service.
	Cached, Live client.Reader
	// Clock is the API server's: what is written onto node classes is dated by it. The machine's own
	// if nil.
	Clock clock.Clock
}

// window is how long a question about one machine waits for others, so that EC2 is asked
// once: less than EC2 takes to answer.
const window = 50 * time.Millisecond

// startTimeout bounds what is asked before anything runs.
const startTimeout = 2 * time.Minute

// NewProvider makes EC2 the cloud. It asks AWS what it must know from the start, and fails
// with what to do if it cannot. A right that is missing is no such failure: node classes are not
// ready then, and their conditions name it.
func NewProvider(ctx context.Context, c ProviderConfig, k Kubernetes) (*provider.Provider, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := errors.Join(c.Check(), c.check()); err != nil {
		return nil, err
	}
	sdk, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	calls := api.New(sdk)
	book, err := price.NewBook(sdk.Region)
	if err != nil {
		return nil, err
	}
	settings := provider.Config{
		AWS: calls, Held: calls.Held, Reader: k.Cached, Clock: k.Clock, Region: sdk.Region, Prices: book,
		Settings: c.Settings, Isolated: c.Isolated, Observe: c.Observe, Window: cmp.Or(c.window, window), NoDryRun: c.NoDryRun,
		RebootForRepair: c.RebootForRepair, OpenReservations: c.OpenReservations,
	}
	if c.Expressions {
		settings.Expressions = expression.New()
	}
	if c.Rights != nil {
		settings.Missing = c.Rights.Missing
	}
	if err := c.discover(ctx, calls, k, &settings); err != nil {
		return nil, err
	}
	if err := c.followShifts(ctx, calls, &settings); err != nil {
		return nil, err
	}
	p := provider.New(settings)
	if err := p.Refresh(ctx); refused(err) {
		log.FromContext(ctx).Error(err, "no node class is ready until EC2 tells what it sells", "region", sdk.Region)
	} else if err != nil {
		return nil, fmt.Errorf("asking EC2 in %s what it sells: %w", sdk.Region, err)
	}
	return p, nil
}

// refused reports whether the credentials do not allow a call.
func refused(err error) bool {
	var denied *cloud.UnauthorizedError
	return errors.As(err, &denied)
}

// discover finds out what machines must know of the cluster.
func (c *ProviderConfig) discover(ctx context.Context, calls *api.Client, k Kubernetes, into *provider.Config) error {
	eks, err := calls.Cluster(ctx, c.Cluster)
	// A cluster that is not EKS's has all of it in the flags, except for AL2023's CIDR.
	needed := c.ClusterEndpoint == "" || c.EKSVersion || c.ZonalShift
	switch {
	case err == nil:
	case needed && refused(err):
		log.FromContext(ctx).Error(err, "no node class is ready until EKS tells of the cluster", "cluster", c.Cluster)
		into.Discover = func(ctx context.Context) error {
			_, err := calls.Cluster(ctx, c.Cluster)
			return err
		}
	case c.ZonalShift && c.ClusterEndpoint != "" && !c.EKSVersion:
		return fmt.Errorf("--enable-zonal-shift: EKS does not tell the ARN of cluster %s: %w", c.Cluster, err)
	case needed:
		return fmt.Errorf("asking EKS for cluster %s; set --cluster-endpoint if it is none of EKS's: %w", c.Cluster, err)
	default:
		log.FromContext(ctx).Info("EKS does not tell of the cluster; AL2023 needs the CIDR of its Services", "cluster", c.Cluster, "error", err.Error())
	}
	ca, err := c.authority(k.REST, eks.CA)
	if err != nil {
		return err
	}
	if c.ZonalShift {
		into.ClusterARN = eks.ARN
	}
	into.Cluster = userdata.Cluster{Name: c.Cluster, Endpoint: cmp.Or(c.ClusterEndpoint, eks.Endpoint), CA: ca, ServiceCIDR: eks.ServiceCIDR}
	if into.Cluster.DNS, err = dns(ctx, k.Live); err != nil {
		return err
	}
	into.IPv6 = eks.IPv6 || into.Cluster.DNS.Is6()
	into.Kubernetes, err = c.version(k.REST, eks.Version)
	into.Version = func(ctx context.Context) (string, error) {
		var now api.Cluster
		if c.EKSVersion {
			var err error
			if now, err = calls.Cluster(ctx, c.Cluster); err != nil {
				return "", err
			}
		}
		return c.version(k.REST, now.Version)
	}
	return err
}

// followShifts makes sure that ARC knows the cluster.
func (c *ProviderConfig) followShifts(ctx context.Context, calls *api.Client, into *provider.Config) error {
	if into.ClusterARN == "" {
		return nil
	}
	_, err := calls.Shifts(ctx, into.ClusterARN)
	switch {
	case errors.Is(err, cloud.ErrNotFound):
		return fmt.Errorf("--enable-zonal-shift: cluster %s is not registered for zonal shifts; register it with ARC (aws eks update-cluster-config --zonal-shift-config enabled=true): %w", c.Cluster, err)
	case refused(err):
		log.FromContext(ctx).Error(err, "zonal shifts are not followed until ARC tells of them", "cluster", c.Cluster)
	case err != nil:
		return fmt.Errorf("--enable-zonal-shift: asking ARC for cluster %s: %w", c.Cluster, err)
	}
	return nil
}

// authority is the API server's certificate authority in base64.
func (c *ProviderConfig) authority(k *rest.Config, eks string) (string, error) {
	if c.CABundle != "" {
		return c.CABundle, nil
	}
	data := k.CAData
	if len(data) == 0 && k.CAFile != "" {
		var err error
		if data, err = os.ReadFile(k.CAFile); err != nil {
			return "", fmt.Errorf("reading the certificate authority of the API server; set --cluster-ca-bundle: %w", err)
		}
	}
	if len(data) == 0 {
		return eks, nil
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

// dns is the address of the cluster's DNS Service; the zero value if there is none of the
// usual name.
func dns(ctx context.Context, live client.Reader) (netip.Addr, error) {
	var service corev1.Service
	err := live.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, &service)
	if apierrors.IsNotFound(err) {
		return netip.Addr{}, nil
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("reading Service kube-system/kube-dns: %w", err)
	}
	address, err := netip.ParseAddr(service.Spec.ClusterIP)
	if err != nil {
		return netip.Addr{}, nil // headless: images take their own default
	}
	return address, nil
}

// version is the control plane's, such as 1.34.
func (c *ProviderConfig) version(k *rest.Config, eks string) (string, error) {
	if eks != "" && c.EKSVersion {
		return eks, nil
	}
	server, err := discovery.NewDiscoveryClientForConfig(k)
	if err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	v, err := server.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	return v.Major + "." + strings.TrimSuffix(v.Minor, "+"), nil
}
