package command

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/sandbox"
)

// startTimeout is far beyond what a start takes on a busy machine.
const startTimeout = 2 * time.Minute

func newUp() *cobra.Command {
	var cfg sandbox.Config
	var cloud cloudFlags
	var tied bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a cluster until interrupted",
		Long: `Run a cluster until interrupted.

When it is ready, two lines go to standard output:

  ready <kubeconfig>
  export KUBECONFIG=<kubeconfig>

With --cloud aws, more lines export what millwright run --provider aws needs. Any Node object that is created becomes a simulated machine. What the machines
do is scripted with "sandbox inject" and with annotations.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if err := cloud.into(&cfg); err != nil {
				return err
			}
			if tied {
				ctx = untilEOF(ctx, cmd.InOrStdin())
			}
			return up(ctx, cmd, cfg)
		},
	}
	cloud.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&cfg.Dir, "dir", "", "keep the cluster in this directory, and continue the one that is there (default: a temporary directory, removed at the end)")
	flags.StringVar(&cfg.Kubeconfig, "kubeconfig", "", "also write the kubeconfig to this file")
	flags.BoolVar(&tied, "tied", false, "stop when standard input ends, as it does when the parent process dies")
	flags.BoolVar(&cfg.FastNodeFailure, "node-failure-fast", false, "give up on a silent node within 6 s and evict its pods 5 s later")
	flags.StringVar(&cfg.AuditLog, "audit-log", "", "write what service accounts ask of the API server to this file, a line of JSON for each request")
	flags.StringVar(&cfg.SchedulerConfig, "scheduler-config", "", "further fields of kube-scheduler's configuration, such as profiles, in YAML")
	flags.StringToStringVar(&cfg.Knobs, "set", nil, "settings to start with, as in --set pod-start-delay=1s; see \"sandbox inject --help\"")
	return cmd
}

func up(ctx context.Context, cmd *cobra.Command, cfg sandbox.Config) error {
	began := time.Now()
	cfg.Progress = func(step string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%5.1fs  %s\n", time.Since(began).Seconds(), step)
	}
	startCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cluster, err := sandbox.Start(startCtx, cfg)
	if ctx.Err() != nil && err != nil {
		return nil // interrupted while starting, and cleaned up
	}
	if err != nil {
		return err
	}
	cfg.Progress("ready, log in " + cluster.Dir())
	kubeconfig := cluster.Kubeconfig()
	if cfg.Kubeconfig != "" {
		kubeconfig = cfg.Kubeconfig
	}
	fmt.Fprintf(cmd.OutOrStdout(), "ready %s\nexport KUBECONFIG=%s\n", kubeconfig, kubeconfig)
	if s := cluster.AWS(); s != nil {
		export(cmd.OutOrStdout(), s)
	}

	select {
	case <-ctx.Done():
		fmt.Fprintln(cmd.ErrOrStderr(), "stopping")
		return cluster.Stop()
	case err := <-cluster.Failed():
		if stopErr := cluster.Stop(); stopErr != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), stopErr)
		}
		return err
	}
}

// untilEOF is ctx ending, at the latest, when in does.
func untilEOF(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		// However the reading ends, the parent is not there any more.
		_, _ = io.Copy(io.Discard, in)
	}()
	return ctx
}
