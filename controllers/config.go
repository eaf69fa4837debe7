package controllers

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/controllers/notify"
	"github.com/millwright-dev/millwright/controllers/servertime"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/spread"
)

// Config says with what Millwright runs. The names in brackets are Karpenter's
// environment variables for the same thing.
type Config struct {
	// REST is how to reach the API server; required. Its QPS and Burst are used as
	// they are; zero means 200 and 300 [KUBE_CLIENT_QPS, KUBE_CLIENT_BURST].
	REST *rest.Config

	// Provider is the cloud; required.
	Provider Provider

	// Announcements are where the cloud's announcements come from, if not from the
	// provider; may be empty.
	Announcements cloud.Announcements

	// Webhook is where people are told what was done and what waits for them; nil is
	// nowhere.
	Webhook *notify.Webhook

	// Clock is the time of all loops; nil is the API server's, as its answers tell it. The
	// lease and the windows of client-go always use the machine's own.
	Clock clock.Clock

	// BatchIdle is how long a plan waits for one more pending pod, BatchMax for how
	// long at most since the first. Longer windows plan better and start later.
	// Zero means 1s and 10s [BATCH_IDLE_DURATION, BATCH_MAX_DURATION]; BatchIdle
	// must not exceed BatchMax.
	BatchIdle, BatchMax time.Duration

	// Observe decides and tells, by events, metrics and the log, and writes nothing
	// else. Such a process has a lease and an event source of its own, and is safe
	// beside a Karpenter or a Millwright that acts.
	Observe bool

	// Placement are the options of every plan [MIN_VALUES_POLICY].
	Placement placement.Options

	// NodeRepair repairs the machines of pools for which no NodePolicy says how, as
	// Karpenter does behind its gate [FEATURE_GATES, NodeRepair].
	NodeRepair bool

	// NodeOverlay lets NodeOverlays count, as Karpenter does behind its gate
	// [FEATURE_GATES, NodeOverlay].
	NodeOverlay bool

	// CapacityBuffer lets CapacityBuffers count, as Karpenter does behind its gate
	// [FEATURE_GATES, CapacityBuffer].
	CapacityBuffer bool
	// TerminateFirstDrift lets machines that have drifted go before their replacements where
	// these have no room before [FEATURE_GATES, TerminateFirstDrift].
	TerminateFirstDrift bool
	// PodDeletionCosts has ReplicaSets that scale in empty one machine after the other
	// [FEATURE_GATES, PodDeletionCostManagement].
	PodDeletionCosts bool

	// Devices lets devices of dynamic resource allocation count; else pods that claim some have
	// no place [IGNORE_DRA_REQUESTS].
	Devices bool

	// Spread are kube-scheduler's topology spread constraints for pods that state none
	// [SCHEDULER_CONFIG].
	Spread spread.Defaults

	// MetricsAddress and HealthAddress are where /metrics and /healthz, /readyz are
	// served, as host:port. Empty means :8080 and :8081 [METRICS_PORT,
	// HEALTH_PROBE_PORT]; "0" serves nothing.
	MetricsAddress, HealthAddress string

	// MetricsAuthentication serves /metrics over TLS and only to those whose token the
	// API server accepts and who may get the URL /metrics. The process then needs the
	// right to create TokenReviews and SubjectAccessReviews.
	MetricsAuthentication bool

	// MetricsCertificates is a folder with tls.crt and tls.key, read again when they
	// change; empty is a certificate that the process signs itself. Only with
	// MetricsAuthentication.
	MetricsCertificates string

	// ProfilingAddress is where /debug/pprof is served, as host:port; empty serves
	// nothing. There is no authentication: it should be a loopback address
	// [ENABLE_PROFILING].
	ProfilingAddress string

	// DisableLeaderElection runs the loops at once, without a lease; for a single
	// process only [DISABLE_LEADER_ELECTION].
	DisableLeaderElection bool

	// LeaderElectionName is the name of the lease; empty means
	// cluster.LeaseName, or if Observe is set ObserverName [LEADER_ELECTION_NAME].
	LeaderElectionName string

	// LeaderElectionNamespace is where the lease is; empty is the pod's own, which
	// only a process in the cluster has [LEADER_ELECTION_NAMESPACE].
	LeaderElectionNamespace string

	// ShutdownTimeout is how long loops may take to finish what they do when the
	// context ends. Zero means 10s.
	ShutdownTimeout time.Duration

	// Build names the binary in the metrics.
	Build metrics.Build
}

// Provider is a cloud and how to make its client.
type Provider struct {
	// Name is the cloud's, for metrics: kwok, aws.
	Name string
	// Classes are the node-class kinds that it serves (group and kind). Pools and
	// claims of other kinds are left alone. Never empty.
	Classes []snapshot.ClassRef
	// Schemes register the provider's own kinds; may be nil.
	Schemes []func(*runtime.Scheme) error
	// Cache narrows what the manager's cache holds of the kinds that only the
	// provider reads, so that its rights can be as narrow; may be nil.
	Cache map[client.Object]cache.ByObject
	// New makes the provider on the manager's clients and the clock of all loops. One that is a manager.Runnable
	// is run, unless the process only observes. Required.
	New func(manager.Manager, clock.Clock) (cloud.Provider, error)
}

// withDefaults fills in what is not set and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.REST == nil:
		return c, errors.New("no REST config")
	case c.Provider.New == nil || len(c.Provider.Classes) == 0:
		return c, errors.New("no cloud provider")
	case c.Announcements.Inspector != nil && c.Announcements.Every <= 0:
		return c, errors.New("no interval for asking the cloud what it has announced")
	case c.MetricsCertificates != "" && !c.MetricsAuthentication:
		return c, errors.New("certificates for metrics that are served without TLS")
	case c.BatchIdle < 0 || c.BatchMax < 0:
		return c, errors.New("a batch window must not be negative")
	}
	defaultTo(&c.BatchIdle, time.Second)
	defaultTo(&c.BatchMax, 10*time.Second)
	defaultTo(&c.MetricsAddress, ":8080")
	defaultTo(&c.HealthAddress, ":8081")
	if c.Observe {
		defaultTo(&c.LeaderElectionName, ObserverName)
	}
	defaultTo(&c.LeaderElectionName, cluster.LeaseName)
	defaultTo(&c.ShutdownTimeout, 10*time.Second)
	if c.BatchIdle > c.BatchMax {
		return c, fmt.Errorf("the idle batch window %v exceeds the longest %v", c.BatchIdle, c.BatchMax)
	}
	c.REST = rest.CopyConfig(c.REST)
	if c.Clock == nil {
		theirs := servertime.New(clock.RealClock{}, tellSkew)
		c.REST.Wrap(theirs.Wrap)
		c.Clock = theirs
	}
	defaultTo(&c.REST.QPS, 200)
	defaultTo(&c.REST.Burst, 300)
	if c.REST.UserAgent == "" {
		c.REST.UserAgent = "millwright/" + c.Build.Version
	}
	switch {
	case c.Observe:
		readOnly(c.REST)
	case !c.DisableLeaderElection:
		fenced(c.REST, clock.RealClock{})
	}
	return c, nil
}

// metricsServer are the options of the server of /metrics.
func (c Config) metricsServer() metricsserver.Options {
	o := metricsserver.Options{BindAddress: c.MetricsAddress}
	if c.MetricsAuthentication {
		o.SecureServing, o.CertDir = true, c.MetricsCertificates
		o.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return o
}

func (c Config) settings() loop.Settings {
	return loop.Settings{BatchIdle: c.BatchIdle, BatchMax: c.BatchMax, Placement: c.Placement, NodeRepair: c.NodeRepair, NodeOverlay: c.NodeOverlay, CapacityBuffer: c.CapacityBuffer, Spread: c.Spread, TerminateFirstDrift: c.TerminateFirstDrift, PodDeletionCosts: c.PodDeletionCosts, Observe: c.Observe, ManagedClasses: c.Provider.Classes}
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
