package controllers

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/cluster/devicecel"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/attachments"
	"github.com/millwright-dev/millwright/controllers/checkup"
	"github.com/millwright-dev/millwright/controllers/denied"
	"github.com/millwright-dev/millwright/controllers/disruption"
	"github.com/millwright-dev/millwright/controllers/feed"
	"github.com/millwright-dev/millwright/controllers/gc"
	"github.com/millwright-dev/millwright/controllers/interruption"
	"github.com/millwright-dev/millwright/controllers/lifecycle"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/controllers/metrics/conditions"
	"github.com/millwright-dev/millwright/controllers/metrics/state"
	"github.com/millwright-dev/millwright/controllers/nodeclass"
	"github.com/millwright-dev/millwright/controllers/nodeoverlay"
	"github.com/millwright-dev/millwright/controllers/nodepolicy"
	"github.com/millwright-dev/millwright/controllers/nodepool"
	"github.com/millwright-dev/millwright/controllers/provision"
	"github.com/millwright-dev/millwright/controllers/repair"
	"github.com/millwright-dev/millwright/controllers/termination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create,namespace=millwright-system
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=karpenter-leader-election;millwright-observer,verbs=get;update,namespace=millwright-system

// EventSource is the component that events name; dashboards know it.
const EventSource = "karpenter"

// Run runs Millwright until the context ends or something breaks that cannot be
// mended. It may be called more than once in a process.
func Run(ctx context.Context, c Config) error {
	c, err := c.withDefaults()
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	rights := denied.New(c.Clock, tellMissing)
	c.REST.Wrap(rights.Wrap)
	unread := &unreadable{ctx: ctx}
	mgr, err := newManager(ctx, c, unread)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(rights); err != nil {
		return fmt.Errorf("registering missing rights: %w", err)
	}
	d, err := newDeps(ctx, mgr, c, registry)
	if err != nil {
		return err
	}
	unread.writer.Store(d.Writer)
	for _, add := range loops(c.Observe) {
		if err := add(mgr, d); err != nil {
			return fmt.Errorf("adding a loop: %w", err)
		}
	}
	if err := addReach(mgr, d); err != nil {
		return fmt.Errorf("adding what tells of NodePools: %w", err)
	}
	if err := registry.Register(state.New(d)); err != nil {
		return fmt.Errorf("registering the state's metrics: %w", err)
	}
	if err := conditions.Add(mgr, d, registry); err != nil {
		return err
	}
	if err := addHealth(mgr, d.Store, rights, c.HealthAddress); err != nil {
		return err
	}
	// The manager serves one registry of the whole process; ours is part of it for
	// as long as this call lasts.
	if err := ctrlmetrics.Registry.Register(registry); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	defer ctrlmetrics.Registry.Unregister(registry)
	return mgr.Start(ctx)
}

// tellMissing names a right that the process lacks.
func tellMissing(right denied.Right, namespace string) {
	log.Log.Error(nil, "a right is missing: the API server does not allow to "+right.String(), "verb", right.Verb, "resource", right.Resource, "group", right.Group, "namespace", namespace,
		"help", "the chart and deploy/rbac grant what is needed; rights that only an option needs come with the option")
}

// tellSkew says that this machine's clock is not the API server's, or is again.
func tellSkew(behind time.Duration) {
	log.Log.Info(fmt.Sprintf("the API server's time counts: this machine's clock differs by %v", -behind.Round(time.Second)),
		"help", "synchronize the clocks of all nodes; those of kubelets are taken as they are")
}

// loops are all that run, in no particular order.
func loops(observe bool) []func(manager.Manager, loop.Deps) error {
	if observe {
		return observers()
	}
	return []func(manager.Manager, loop.Deps) error{
		nodepool.Add, nodeclass.Add, nodepolicy.Add, nodeoverlay.Add, provision.Add, disruption.Add,
		lifecycle.Add, termination.Add, gc.Add, attachments.Add, interruption.Add, feed.Add, repair.Add,
		state.Add, checkup.Add,
	}
}

// cached narrows the kinds of which not every object is of interest.
func (c Config) cached() (map[client.Object]cache.ByObject, error) {
	hooked, err := labels.Parse(snapshot.HookNodeLabel)
	if err != nil {
		return nil, fmt.Errorf("selecting the Jobs of hooks: %w", err)
	}
	out := map[client.Object]cache.ByObject{&batchv1.Job{}: {Label: hooked}}
	maps.Copy(out, c.Provider.Cache)
	return out, nil
}

func newManager(ctx context.Context, c Config, unread *unreadable) (manager.Manager, error) {
	kinds := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{scheme.AddToScheme, cluster.AddToScheme}, c.Provider.Schemes...) {
		if err := add(kinds); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	cached, err := c.cached()
	if err != nil {
		return nil, err
	}
	informers := &decode.Informers{REST: c.REST, Scheme: kinds, Report: unread.report}
	lease := rest.CopyConfig(c.REST) // a budget of its own: the lease is renewed whatever the loops do
	lease.QPS, lease.Burst = 0, 0
	again, lasts := true, leaseDuration // Run may be called again
	// controller-runtime's priority queue (0.24.1) can hang when it is shut down: it hands
	// an item, its locks held, to a worker that has left, and other workers wait for them.
	priorities := false
	mgr, err := manager.New(c.REST, manager.Options{
		Scheme:                        kinds,
		Logger:                        quietAtTheEnd(ctx, log.Log),
		Cache:                         cache.Options{DefaultTransform: cluster.Trim(c.CapacityBuffer), ByObject: cached, NewInformer: informers.New},
		Metrics:                       c.metricsServer(),
		PprofBindAddress:              c.ProfilingAddress,
		LeaderElection:                !c.DisableLeaderElection,
		LeaderElectionID:              c.LeaderElectionName,
		LeaderElectionNamespace:       c.LeaderElectionNamespace,
		LeaderElectionConfig:          lease,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lasts,
		GracefulShutdownTimeout:       &c.ShutdownTimeout,
		Controller:                    config.Controller{SkipNameValidation: &again, UsePriorityQueue: &priorities},
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return mgr, nil
}

// newDeps makes what the loops share.
func newDeps(ctx context.Context, mgr manager.Manager, c Config, registry *prometheus.Registry) (loop.Deps, error) {
	for _, i := range loop.Indexes() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, i.Object, i.Field, i.Extract); err != nil {
			return loop.Deps{}, fmt.Errorf("indexing %T by %s: %w", i.Object, i.Field, err)
		}
	}
	options := cluster.Options{Spread: c.Spread}
	var gated []client.Object
	if c.NodeOverlay {
		gated = append(gated, cluster.ForOverlays()...)
	}
	if c.CapacityBuffer {
		gated = append(gated, cluster.ForBuffers()...)
	}
	if c.Devices {
		options.Devices, gated = devicecel.New(), append(gated, cluster.ForDevices()...)
	}
	if len(c.Spread) > 0 {
		gated = append(gated, cluster.ForSpread()...)
	}
	store := cluster.NewStore(options)
	if err := cluster.Watch(mgr, store, gated...); err != nil {
		return loop.Deps{}, fmt.Errorf("watching the cluster: %w", err)
	}
	series, err := metrics.New(registry, c.Build)
	if err != nil {
		return loop.Deps{}, err
	}
	made, err := c.Provider.New(mgr, c.Clock)
	if err != nil {
		return loop.Deps{}, fmt.Errorf("making the cloud provider: %w", err)
	}
	if r, runs := made.(manager.Runnable); runs && !c.Observe {
		if err := mgr.Add(r); err != nil {
			return loop.Deps{}, fmt.Errorf("adding the cloud provider: %w", err)
		}
	}
	source := EventSource
	if c.Observe {
		source = ObserverName
	}
	provider := metrics.Wrap(made, series, c.Provider.Name, c.Clock)
	return loop.Deps{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Store: store, Provider: provider, Announcements: c.Announcements, Webhook: c.Webhook,
		Writer: apply.New(apply.Config{
			API: apply.ForClient(mgr.GetClient()), Store: store, Clock: c.Clock, Refused: series.WriteRefused,
			Recorder: mgr.GetEventRecorderFor(source), //nolint:staticcheck // users' tools read core/v1 events of this source
		}),
		Clock: c.Clock, Types: loop.Types(ctx, provider), Settings: c.settings(), Metrics: series,
	}, nil
}
