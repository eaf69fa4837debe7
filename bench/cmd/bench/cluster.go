package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/bench/cluster"
)

// compareClusters runs whole controllers in turns and writes the report.
func compareClusters(ctx context.Context, args []string) error {
	cfg := cluster.Config{Progress: os.Stderr}
	fs := flag.NewFlagSet("bench cluster", flag.ContinueOnError)
	out := fs.String("o", "CLUSTER.md", "file for the report; - is standard output")
	fs.StringVar(&cfg.Root, "root", "..", "the checkout")
	fs.StringVar(&cfg.Sandbox, "sandbox", "../bin/sandbox", "the sandbox's binary")
	fs.StringVar(&cfg.Millwright, "millwright", "../bin/millwright", "Millwright's binary")
	fs.StringVar(&cfg.Karpenter, "karpenter", "../bin/karpenter-kwok", "the binary of Karpenter's KWOK controller")
	sizes := fs.String("pods", "300,1000,3000", "comma-separated sizes of the burst, in pods")
	hogs := fs.String("hogs", "0,1", "comma-separated numbers of busy loops beside; every size is played with each")
	turns := fs.String("turns", "karpenter,millwright", "comma-separated contestants, in order")
	phases := fs.String("phases", "burst,70%,rollout,trickle,nothing", "comma-separated phases, in order")
	fs.DurationVar(&cfg.LaunchDelay, "launch-delay", 3*time.Second, "time from a launch to the appearance of the Node")
	fs.DurationVar(&cfg.Quiet, "quiet", 30*time.Second, "how long no Node may come or go for a phase to be over")
	fs.DurationVar(&cfg.Limit, "limit", 8*time.Minute, "how long a phase may take")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	cfg.Turns, cfg.Phases = strings.Split(*turns, ","), strings.Split(*phases, ",")
	plan, err := roundsOf(*sizes, *hogs)
	if err != nil {
		return err
	}
	if cfg.Dir, err = os.MkdirTemp("", "bench-cluster-"); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "the controllers' logs are in", cfg.Dir)
	var rounds []cluster.Round
	for _, r := range plan {
		cfg.Pods, cfg.Hogs = r.Pods, r.Hogs
		results, runErr := cluster.Run(ctx, cfg)
		r.Results = results
		rounds = append(rounds, r)
		if err = errors.Join(err, runErr); runErr != nil {
			break
		}
	}
	return errors.Join(err, publish(*out, cluster.Report(cfg, rounds)))
}

// roundsOf are the rounds to play: every size without, then with busy loops.
func roundsOf(sizes, hogs string) ([]cluster.Round, error) {
	var out []cluster.Round
	for _, beside := range strings.Split(hogs, ",") {
		for _, size := range strings.Split(sizes, ",") {
			var r cluster.Round
			if _, err := fmt.Sscan(size, &r.Pods); err != nil || r.Pods < 30 {
				return nil, fmt.Errorf("-pods: %q is not a number from 30", size)
			}
			if _, err := fmt.Sscan(beside, &r.Hogs); err != nil || r.Hogs < 0 {
				return nil, fmt.Errorf("-hogs: %q is not a number from 0", beside)
			}
			out = append(out, r)
		}
	}
	return out, nil
}
