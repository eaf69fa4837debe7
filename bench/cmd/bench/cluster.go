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
	"github.com/millwright-dev/millwright/bench/process"
)

// compareClusters runs whole controllers in turns and writes the report.
func compareClusters(ctx context.Context, args []string) error {
	cfg := cluster.Config{Stage: process.Stage{Progress: os.Stderr}}
	fs := flag.NewFlagSet("bench cluster", flag.ContinueOnError)
	out := fs.String("o", "CLUSTER.md", "file for the report; - is standard output")
	sizes := fs.String("pods", "300,1000,3000", "comma-separated sizes of the burst, in pods")
	hogs := fs.String("hogs", "0,1", "comma-separated numbers of busy loops beside; every size is played with each")
	phases := fs.String("phases", "burst,70%,rollout,trickle,nothing", "comma-separated phases, in order")
	fs.IntVar(&cfg.Deployments, "deployments", 10, "Deployments of each of the three sizes of pods")
	fs.DurationVar(&cfg.Apart, "apart", 0, "time from the creation of one Deployment to the next")
	fs.DurationVar(&cfg.LaunchDelay, "launch-delay", 3*time.Second, "time from a launch to the appearance of the Node")
	fs.DurationVar(&cfg.ReadyDelay, "ready-delay", 300*time.Millisecond, "time from then until it is ready")
	fs.DurationVar(&cfg.ReadySpread, "ready-spread", 0, "how much longer that takes at most; Nodes differ")
	if err := cfg.Parse(fs, args, "karpenter-kwok", 30*time.Second); err != nil {
		return err
	}
	if cfg.Deployments < 1 {
		return fmt.Errorf("-deployments: %d is not a number from 1", cfg.Deployments)
	}
	cfg.Phases = strings.Split(*phases, ",")
	plan, err := roundsOf(*sizes, *hogs)
	if err != nil {
		return err
	}
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
