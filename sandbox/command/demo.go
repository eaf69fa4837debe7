package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/millwright-dev/millwright/sandbox"
	"github.com/millwright-dev/millwright/sandbox/demo"
	"github.com/millwright-dev/millwright/sandbox/stories"
)

func newDemo() *cobra.Command {
	var cfg demo.Config
	var cloud cloudFlags
	var keep bool
	var story string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show Millwright at work: machines come up for pending pods and leave again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			cfg.Out = cmd.OutOrStdout()
			cfg.Live = term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb"
			cfg.Keep = keep
			return runDemo(ctx, cmd, cfg, cloud, story)
		},
	}
	cloud.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&cfg.Millwright, "millwright", "bin/millwright", "the controller's binary")
	flags.StringVar(&cfg.Root, "root", ".", "the checkout with deploy/ and examples/")
	flags.BoolVar(&keep, "keep", false, "leave the cluster up afterwards, until interrupted")
	flags.StringVar(&story, "story", "", "play a failure that millwright doctor finds beforehand: "+strings.Join(stories.Names(), ", "))
	cmd.MarkFlagsMutuallyExclusive("story", "cloud")
	cmd.MarkFlagsMutuallyExclusive("story", "keep")
	return cmd
}

func runDemo(ctx context.Context, cmd *cobra.Command, cfg demo.Config, cloud cloudFlags, story string) (err error) {
	if story != "" && !slices.Contains(stories.Names(), story) {
		return fmt.Errorf("--story: %q is not one of %s", story, strings.Join(stories.Names(), ", "))
	}
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
	cfg.AWS, cfg.Kubeconfig = cluster.AWS(), cluster.Kubeconfig()
	play := func() error { return demo.Run(ctx, cfg) }
	if story != "" {
		play = func() error {
			return stories.Play(ctx, story, stories.Config{REST: cfg.REST, Kubeconfig: cfg.Kubeconfig, Millwright: cfg.Millwright, Root: cfg.Root, Dir: cfg.Dir, Out: cfg.Out})
		}
	}
	if err := play(); err != nil {
		return fmt.Errorf("%w (the controller's log is %s)", err, filepath.Join(cfg.Dir, demo.LogName))
	}
	return os.RemoveAll(cfg.Dir)
}
