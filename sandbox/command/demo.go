package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/millwright-dev/millwright/sandbox"
	"github.com/millwright-dev/millwright/sandbox/demo"
)

func newDemo() *cobra.Command {
	var cfg demo.Config
	var cloud cloudFlags
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show Millwright at work: machines come up for pending pods and leave again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			cfg.Out = cmd.OutOrStdout()
			cfg.Live = term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb"
			return runDemo(ctx, cmd, cfg, cloud, keep)
		},
	}
	cloud.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&cfg.Millwright, "millwright", "bin/millwright", "the controller's binary")
	flags.StringVar(&cfg.Root, "root", ".", "the checkout with deploy/ and examples/")
	flags.BoolVar(&keep, "keep", false, "leave the cluster up afterwards, until interrupted")
	return cmd
}

func runDemo(ctx context.Context, cmd *cobra.Command, cfg demo.Config, cloud cloudFlags, keep bool) (err error) {
	began := time.Now()
	machinery := sandbox.Config{Progress: func(step string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%5.1fs  %s\n", time.Since(began).Seconds(), step)
	}}
	if err := cloud.into(&machinery); err != nil {
		return err
	}
	cluster, err := sandbox.Start(ctx, machinery)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := cluster.Stop(); err == nil {
			err = stopErr
		}
	}()
	fmt.Fprintf(cfg.Out, "API ready after %.1fs\n", time.Since(began).Seconds())
	cfg.REST = cluster.RESTConfig()
	if cfg.Dir, err = os.MkdirTemp("", "millwright-demo-"); err != nil {
		return err
	}
	cfg.Keep, cfg.AWS = keep, cluster.AWS()
	cfg.Kubeconfig = cluster.Kubeconfig()
	if err := demo.Run(ctx, cfg); err != nil {
		return fmt.Errorf("%w (the controller's log is %s)", err, filepath.Join(cfg.Dir, demo.LogName))
	}
	return os.RemoveAll(cfg.Dir)
}
