package karpenter

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"

	"github.com/millwright-dev/millwright/bench"
)

// Engine is Karpenter's scheduler. Its solves share Karpenter's process-wide
// state and must not run at the same time.
type Engine struct {
	options *options.Options
}

// New reads Karpenter's defaults.
func New() (*Engine, error) {
	o, err := Defaults()
	if err != nil {
		return nil, err
	}
	return &Engine{options: o}, nil
}

// Defaults are those of Karpenter's options. It silences the log of this process.
func Defaults() (*options.Options, error) {
	log.SetLogger(logging.NopLogger)
	o := &options.Options{}
	fs := &options.FlagSet{FlagSet: flag.NewFlagSet("karpenter", flag.ContinueOnError)}
	o.AddFlags(fs)
	if err := o.Parse(fs); err != nil {
		return nil, fmt.Errorf("reading karpenter's defaults: %w", err)
	}
	return o, nil
}

// Name is Karpenter.
func (e *Engine) Name() string { return "Karpenter" }

// Prepare converts the catalogue.
func (e *Engine) Prepare(p *bench.Problem) (bench.Solve, error) {
	RegisterLabels(p.Types)
	b := &batch{
		problem: p,
		types:   InstanceTypes(p.Types),
		client:  fake.NewClientBuilder().Build(),
		options: e.options,
	}
	return b.solve, nil
}

// batch is one problem in Karpenter's terms.
type batch struct {
	problem *bench.Problem
	types   []*cloudprovider.InstanceType
	client  client.Client
	options *options.Options
}

func (b *batch) solve(ctx context.Context) (func() *bench.Outcome, error) {
	ctx = options.ToContext(injection.WithControllerName(ctx, "provisioner"), b.options)
	s, err := b.scheduler(ctx)
	if err != nil {
		return nil, err
	}
	var results scheduling.Results
	for _, wave := range b.problem.InWaves() {
		if results, err = s.Solve(ctx, wave); err != nil {
			break
		}
	}
	cutOff := errors.Is(err, context.DeadlineExceeded)
	if err != nil && !cutOff {
		return nil, fmt.Errorf("solving: %w", err)
	}
	results = results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes)
	return func() *bench.Outcome { return outcome(results, cutOff) }, nil
}

// scheduler is a fresh one: a scheduler that has solved keeps its claims, and packs a later
// wave into them. Their types stay open until the last, where the controller's are launched:
// waves are a kinder problem to it here than they are in a cluster.
func (b *batch) scheduler(ctx context.Context) (*scheduling.Scheduler, error) {
	pools := append([]*karpv1.NodePool(nil), b.problem.Pools...)
	nodepool.OrderByWeight(pools)
	types := make(map[string][]*cloudprovider.InstanceType, len(pools))
	for _, np := range pools {
		types[np.Name] = b.types
	}
	cores := float64(b.options.CPURequests) / 1000
	opts := []scheduling.Options{
		scheduling.DisableReservedCapacityFallback,
		scheduling.NumConcurrentReconciles(int(math.Ceil(cores))),
		scheduling.MinValuesPolicy(b.options.MinValuesPolicy),
	}
	clk := clock.RealClock{}
	cluster := state.NewCluster(clk, b.client, nil) // a provider is only asked when state is synced
	topology, err := scheduling.NewTopology(ctx, b.client, cluster, nil, pools, types, b.problem.Pods, opts...)
	if err != nil {
		return nil, fmt.Errorf("building topology: %w", err)
	}
	recorder := events.NewRecorder(&record.FakeRecorder{})
	return scheduling.NewScheduler(ctx, b.client, pools, cluster, nil, topology, types, b.daemonPods(), recorder, clk, nil, nil, opts...), nil
}

// daemonPods are the pods that DaemonSets would run, made anew because the
// scheduler changes them.
func (b *batch) daemonPods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, ds := range b.problem.DaemonSets {
		pod := &corev1.Pod{Spec: *ds.Spec.Template.Spec.DeepCopy()}
		pod.Namespace, pod.Name, pod.Labels = ds.Namespace, ds.Name, ds.Spec.Template.Labels
		pods = append(pods, pod)
	}
	return pods
}
