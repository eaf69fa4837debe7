package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/cli/gates"
	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/cli/logging"
	"github.com/millwright-dev/millwright/cli/settings"
	"github.com/millwright-dev/millwright/cli/switches"
	"github.com/millwright-dev/millwright/cli/version"
	"github.com/millwright-dev/millwright/cloud/aws"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/controllers/notify"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/placement/supply"
)

// runOptions are the settings of the controller. Flags and variables that
// Karpenter has too go by its names and have its defaults.
type runOptions struct {
	kube     *genericclioptions.ConfigFlags
	provider string
	types    string

	metricsPort, healthPort int
	metricsAuth             bool
	metricsCerts            string
	profiling               bool
	profilingPort           int
	qps, burst              int
	memoryLimit             int64
	log                     logging.Options
	batchIdle, batchMax     time.Duration
	noElection              bool
	leaseName, leaseSpace   string
	mode                    switches.Word
	planning                settings.Planning
	gates, ec2Gates         gates.Gates
	ignoreDRA               bool
	webhook                 string
	webhookFormat           switches.Word
	aws                     aws.Config
	ec2                     aws.ProviderConfig
}

// Modes of a run.
const (
	act     = "act"
	observe = "observe"
)

// runController is what `millwright run` ends in; tests replace it through newRunWith.
type runController func(context.Context, controllers.Config) error

func newRun(c console) *cobra.Command { return newRunWith(c, controllers.Run) }

func newRunWith(c console, start runController) *cobra.Command {
	o := runOptions{kube: kubeconfig.ClusterFlags(), gates: gates.OfKarpenter(), ec2Gates: gates.OfAWS()}
	cmd := &cobra.Command{
		Use:   "run --provider PROVIDER",
		Short: "Run the controller",
		Long: `Run the controller until it is told to stop.

Settings come from flags, then from environment variables, then from defaults.
Names and defaults are Karpenter's where Karpenter has the setting; a flag's
variable is its name in capitals with underscores, as in --batch-max-duration and
BATCH_MAX_DURATION. Settings of Karpenter's that have no counterpart here are
understood, and a warning says so if they are set to more than their default.

` + exitCodes(""),
		Example: `  # Machines of EC2, for a cluster of EKS
  CLUSTER_NAME=demo millwright run --provider aws --leader-election-namespace kube-system

  # Simulated machines on the cluster of the current context
  millwright run --provider kwok --disable-leader-election

  # What would it do? Safe beside a running Karpenter
  CLUSTER_NAME=demo millwright run --provider aws --mode observe --leader-election-namespace kube-system

  # In a cluster, with settings from the environment of a Deployment
  BATCH_MAX_DURATION=20s LOG_LEVEL=debug millwright run --provider kwok`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			c.warnForeign(cmd.Flags())
			cfg, err := o.config(cmd.Context())
			if err != nil {
				return err
			}
			flush, err := logging.Set(o.log)
			if err != nil {
				return err
			}
			defer flush()
			if o.memoryLimit > 0 {
				debug.SetMemoryLimit(o.memoryLimit / 10 * 9)
			}
			o.logStart(cfg)
			return start(cmd.Context(), cfg)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *runOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.provider, "provider", "", "where machines come from: "+strings.Join(providerNames(), ", "))
	complete(cmd, "provider", providerNames()...)
	addInstanceTypes(cmd, &o.types)

	f.IntVar(&o.metricsPort, "metrics-port", 8080, "port of /metrics; 0 serves none")
	switches.Add(f, &o.metricsAuth, "metrics-authentication", false, "serve /metrics over TLS, to holders of a token that the API server accepts and whose RBAC allows get on the URL /metrics")
	f.StringVar(&o.metricsCerts, "metrics-cert-dir", "", "folder with tls.crt and tls.key for --metrics-authentication, read again when they change; if empty the process signs its certificate itself")
	switches.Add(f, &o.profiling, "enable-profiling", false, "serve /debug/pprof to the pod itself and thereby to kubectl port-forward")
	f.IntVar(&o.profilingPort, "profiling-port", 6060, "port of /debug/pprof, on the loopback address only")
	f.IntVar(&o.healthPort, "health-probe-port", 8081, "port of /healthz and /readyz; 0 serves none")
	f.IntVar(&o.qps, "kube-client-qps", 200, "requests per second to the API server")
	f.IntVar(&o.burst, "kube-client-burst", 300, "requests to the API server that may be made at once")
	f.Int64Var(&o.memoryLimit, "memory-limit", -1, "bytes of memory that the process may have; the garbage collector aims at 90 % of it; not positive is no limit")
	f.StringVar(&o.log.Level, "log-level", "info", "debug, info or error")
	complete(cmd, "log-level", "debug", "info", "error")
	f.StringVar(&o.log.Paths, "log-output-paths", "stdout", "comma-separated files, or stdout or stderr, for the log")
	f.StringVar(&o.log.ErrorPaths, "log-error-output-paths", "stderr", "comma-separated files, or stdout or stderr, for errors of the log itself")
	f.DurationVar(&o.batchMax, "batch-max-duration", 10*time.Second, "how long a plan waits at most since the first pending pod")
	f.DurationVar(&o.batchIdle, "batch-idle-duration", time.Second, "how long a plan waits for one more pending pod")
	switches.Add(f, &o.noElection, "disable-leader-election", false, "run at once, without a lease; for a single process only")
	o.mode = switches.Word{Value: act, Allowed: []string{act, observe}}
	f.Var(&o.mode, "mode", "act does what is decided; observe only tells it, by events, metrics and the log, and writes nothing else")
	complete(cmd, "mode", o.mode.Allowed...)
	o.planning.Add(f)
	f.Var(&o.gates, "feature-gates", "Karpenter's feature gates, such as NodeRepair=true: machines are repaired also where no NodePolicy says how; NodeOverlay=true and CapacityBuffer=true: objects of these kinds count; TerminateFirstDrift=true: machines that have drifted go before their replacements where limits or a capacity reservation have no room for these before; PodDeletionCostManagement=true: pods get deletion costs by which ReplicaSets that scale in empty one machine after the other. ReservedCapacity=false: on-demand machines run in open capacity reservations. Others cannot be switched; static capacity and spot-to-spot consolidation are on")
	f.Var(&o.ec2Gates, "aws-feature-gates", "feature gates of Karpenter's provider for AWS: NodeClassCEL=true evaluates expressions in an EC2NodeClass's spec.kubelet, for each instance type; RebootForRepair=true reboots machines under repair whose accelerators have failed in a way that a reboot may mend, and replaces them if it does not. Others cannot be switched")
	switches.Add(f, &o.ignoreDRA, "ignore-dra-requests", true, "launch nothing for pods that claim devices of dynamic resource allocation; else devices count as resources do, and the API server has to have resource.k8s.io/v1")
	f.StringVar(&o.leaseName, "leader-election-name", cluster.LeaseName, "name of the lease; Karpenter's own keeps the two from running at the same time, and a process that observes has "+controllers.ObserverName+" instead")
	f.StringVar(&o.leaseSpace, "leader-election-namespace", "", "namespace of the lease; if empty $POD_NAMESPACE, then the pod's own")
	f.StringVar(&o.webhook, "notification-webhook", "", "URL that is told of approvals that are waited for, of what became of them and of what policies' interruption rules do; if empty there are no notifications. The URL may be all that it takes to write there: set the variable from a Secret")
	o.webhookFormat = switches.Word{Value: string(notify.CloudEvents), Allowed: notify.Formats()}
	f.Var(&o.webhookFormat, "notification-format", "what the webhook takes: CloudEvents in JSON, or Slack for a text as Slack's incoming webhooks take it")
	addAnnouncements(f, &o.aws)
	addEC2(f, &o.ec2)
	addForeign(f)
	readsEnvironment(f)
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	o.kube.AddFlags(connection)
	f.AddFlagSet(connection)
}

// config checks the settings as a whole.
func (o *runOptions) config(ctx context.Context) (controllers.Config, error) {
	none := controllers.Config{}
	if err := o.check(); err != nil {
		return none, err
	}
	provider, err := o.newProvider(ctx)
	if err != nil {
		return none, err
	}
	announcements, err := o.announcements(ctx)
	if err != nil {
		return none, err
	}
	webhook, err := notify.New(o.webhook, notify.Format(o.webhookFormat.Value), o.ec2.Cluster)
	if err != nil {
		return none, fmt.Errorf("--notification-webhook: %w", err)
	}
	kube, err := kubeconfig.Connection(o.kube)
	if err != nil {
		return none, err
	}
	kube = rest.CopyConfig(kube)
	kube.QPS, kube.Burst = float32(o.qps), o.burst
	v, err := version.This(apiVersion)
	if err != nil {
		return none, err
	}
	plans := placement.Options{Cache: &supply.Cache{}}
	o.planning.Set(&plans)
	lease := o.leaseName
	if o.mode.Value == observe && lease == cluster.LeaseName {
		lease = controllers.ObserverName
	}
	space, err := o.leaseNamespace()
	if err != nil {
		return none, err
	}
	return controllers.Config{
		REST: kube, Provider: provider, Announcements: announcements, Webhook: webhook,
		BatchIdle: o.batchIdle, BatchMax: o.batchMax,
		Placement: plans, Observe: o.mode.Value == observe, NodeRepair: o.gates.On(gates.NodeRepair),
		NodeOverlay: o.gates.On(gates.NodeOverlay), CapacityBuffer: o.gates.On(gates.CapacityBuffer), TerminateFirstDrift: o.gates.On(gates.TerminateFirstDrift), PodDeletionCosts: o.gates.On(gates.PodDeletionCostManagement), Devices: !o.ignoreDRA, Spread: o.planning.Spread,
		MetricsAddress: address(o.metricsPort), HealthAddress: address(o.healthPort),
		MetricsAuthentication: o.metricsAuth, MetricsCertificates: o.metricsCerts, ProfilingAddress: o.profilingAddress(),
		DisableLeaderElection: o.noElection,
		LeaderElectionName:    lease, LeaderElectionNamespace: space,
		Build: metrics.Build{Version: v.Client, Commit: v.Commit},
	}, nil
}

func (o *runOptions) check() error {
	switch {
	case o.provider == "":
		return fmt.Errorf("--provider: required; one of %s\nSee 'millwright run --help' for usage", strings.Join(providerNames(), ", "))
	case !validPort(o.metricsPort):
		return fmt.Errorf("--metrics-port: %d is not a port", o.metricsPort)
	case !validPort(o.healthPort):
		return fmt.Errorf("--health-probe-port: %d is not a port", o.healthPort)
	case o.metricsPort == o.healthPort && o.metricsPort != 0:
		return fmt.Errorf("--metrics-port and --health-probe-port are both %d", o.metricsPort)
	case o.metricsCerts != "" && !o.metricsAuth:
		return errors.New("--metrics-cert-dir: /metrics is served without TLS; set --metrics-authentication too")
	case o.profiling && (o.profilingPort == 0 || !validPort(o.profilingPort)):
		return fmt.Errorf("--profiling-port: %d is not a port", o.profilingPort)
	case o.profiling && (o.profilingPort == o.metricsPort || o.profilingPort == o.healthPort):
		return fmt.Errorf("--profiling-port: %d is the port of metrics or of health probes", o.profilingPort)
	case o.qps <= 0:
		return fmt.Errorf("--kube-client-qps: must be positive, not %d", o.qps)
	case o.burst <= 0:
		return fmt.Errorf("--kube-client-burst: must be positive, not %d", o.burst)
	case o.batchIdle <= 0:
		return fmt.Errorf("--batch-idle-duration: must be positive, not %v", o.batchIdle)
	case o.leaseName == "" && !o.noElection:
		return errors.New("--leader-election-name: must not be empty")
	case o.batchMax < o.batchIdle:
		return fmt.Errorf("--batch-max-duration: %v is shorter than --batch-idle-duration %v", o.batchMax, o.batchIdle)
	}
	return o.planning.Check()
}

func validPort(n int) bool { return n >= 0 && n <= math.MaxUint16 }

func address(port int) string {
	if port == 0 {
		return "0"
	}
	return fmt.Sprintf(":%d", port)
}

// profilingAddress is on the loopback interface: profiles show memory, and have no authentication.
func (o *runOptions) profilingAddress() string {
	if !o.profiling {
		return ""
	}
	return fmt.Sprintf("127.0.0.1:%d", o.profilingPort)
}

// logStart is the one line by which a log begins.
func (o *runOptions) logStart(cfg controllers.Config) {
	ctrl.Log.Info("starting millwright", "version", cfg.Build.Version, "provider", o.provider, "mode", o.mode.Value,
		"batch-idle-duration", o.batchIdle, "batch-max-duration", o.batchMax, "preference-policy", o.planning.PreferencePolicy.Value,
		"min-values-policy", o.planning.MinValuesPolicy.Value, "feature-gates", o.gates.String(), "aws-feature-gates", o.ec2Gates.String(), "leader-election", !o.noElection,
		"interruption-queue", o.aws.Queue)
}
