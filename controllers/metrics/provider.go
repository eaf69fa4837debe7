package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

type cloudCalls struct {
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	// launches and terminations count those that failed.
	launches, terminations *prometheus.CounterVec
}

func newCloudCalls() cloudCalls {
	const s = "cloudprovider"
	return cloudCalls{
		duration: histogram(s, "duration_seconds", "Time of a call to the cloud provider.", DurationBuckets(), "controller", "method", "provider"),
		errors:   counter(s, "errors_total", "Calls to the cloud provider that failed.", "controller", "method", "provider", "error"),
		launches: counter(s, "instance_launch_failures_total", "Offerings that the cloud did not deliver to a launch, also if it delivered another; zone is empty where it refused all at once.",
			"zone", "zone_id", "capacity_type", "reason"),
		terminations: counter(s, "instance_termination_failures_total", "Requests to end a machine that the cloud has and did not end.", "zone", "zone_id"),
	}
}

func (c cloudCalls) all() []prometheus.Collector {
	return []prometheus.Collector{c.duration, c.errors, c.launches, c.terminations}
}

// controllerKey is the context key of the calling controller's name.
type controllerKey struct{}

// WithController names the controller on whose behalf a context's calls to the
// cloud provider are made.
func WithController(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, controllerKey{}, name)
}

// Provider is a cloud.Provider whose calls are measured. What the provider can
// do beyond cloud.Provider is found on what Unwrap returns.
type Provider struct {
	cloud.Provider
	metrics *Metrics
	name    string
	clock   clock.PassiveClock
}

// Wrap measures the calls to a provider. The name is that of the label.
func Wrap(p cloud.Provider, m *Metrics, name string, c clock.PassiveClock) *Provider {
	return &Provider{Provider: p, metrics: m, name: name, clock: c}
}

// Unwrap is the provider that is measured.
func (p *Provider) Unwrap() cloud.Provider { return p.Provider }

// InstanceTypes is cloud.Provider's.
func (p *Provider) InstanceTypes(ctx context.Context, class snapshot.ClassRef) ([]*catalog.Type, error) {
	return measure(ctx, p, "GetInstanceTypes", func() ([]*catalog.Type, error) { return p.Provider.InstanceTypes(ctx, class) })
}

// Launch is cloud.Provider's.
func (p *Provider) Launch(ctx context.Context, req cloud.LaunchRequest) (cloud.Instance, error) {
	req.Failed = p.metrics.launchFailed
	return measure(ctx, p, "Create", func() (cloud.Instance, error) { return p.Provider.Launch(ctx, req) })
}

// Get is cloud.Provider's.
func (p *Provider) Get(ctx context.Context, providerID string) (cloud.Instance, error) {
	return measure(ctx, p, "Get", func() (cloud.Instance, error) { return p.Provider.Get(ctx, providerID) })
}

// List is cloud.Provider's.
func (p *Provider) List(ctx context.Context) ([]cloud.Instance, error) {
	return measure(ctx, p, "List", func() ([]cloud.Instance, error) { return p.Provider.List(ctx) })
}

// Terminate is cloud.Provider's.
func (p *Provider) Terminate(ctx context.Context, providerID string) error {
	_, err := measure(ctx, p, "Delete", func() (struct{}, error) { return struct{}{}, p.Provider.Terminate(ctx, providerID) })
	var failed *cloud.TerminationError
	if p.metrics != nil && errors.As(err, &failed) {
		p.metrics.cloud.terminations.WithLabelValues(failed.Zone, failed.ZoneID).Inc()
	}
	return err
}

func measure[T any](ctx context.Context, p *Provider, method string, call func() (T, error)) (T, error) {
	started := p.clock.Now()
	out, err := call()
	controller, _ := ctx.Value(controllerKey{}).(string)
	p.metrics.called(controller, method, p.name, p.clock.Since(started), err)
	return out, err
}

func (m *Metrics) launchFailed(f cloud.LaunchFailure) {
	if m != nil {
		m.cloud.launches.WithLabelValues(f.Zone, f.ZoneID, f.CapacityType, f.Reason).Inc()
	}
}

func (m *Metrics) called(controller, method, provider string, took time.Duration, err error) {
	if m == nil {
		return
	}
	m.cloud.duration.WithLabelValues(controller, method, provider).Observe(took.Seconds())
	if err != nil {
		m.cloud.errors.WithLabelValues(controller, method, provider, errorLabel(err)).Inc()
	}
}

// errorLabel is Karpenter's name of the errors that it tells apart.
func errorLabel(err error) string {
	var capacity *cloud.InsufficientCapacityError
	var class *cloud.ClassNotReadyError
	switch {
	case errors.Is(err, cloud.ErrNotFound):
		return "NodeClaimNotFoundError"
	case errors.As(err, &capacity):
		return "InsufficientCapacityError"
	case errors.As(err, &class):
		return "NodeClassNotReadyError"
	}
	return ""
}
