package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/bench/ec2"
	"github.com/millwright-dev/millwright/bench/process"
)

// compareOnAWS runs whole controllers on an emulated AWS and writes the report.
func compareOnAWS(ctx context.Context, args []string) error {
	cfg := ec2.Config{Stage: process.Stage{Progress: os.Stderr}}
	fs := flag.NewFlagSet("bench aws", flag.ContinueOnError)
	out := fs.String("o", "", "file for the report, by default AWS.md, AWS-MANY.md if all scenarios are of many machines, or HANDOVER.md; - is standard output")
	handover := fs.Bool("handover", false, "instead: one cluster that Karpenter builds, Millwright takes over and gives back")
	fs.IntVar(&cfg.Machines, "machines", 0, "how many machines change hands (default 50), or come at once in the scenarios "+strings.Join(ec2.Many(), ", ")+" (default 100); at least 10")
	fs.DurationVar(&cfg.Hold, "hold", 90*time.Second, "with -handover: how long is waited for what comes of a change of controllers")
	scenarios := fs.String("scenarios", strings.Join(ec2.Order(), ","), "comma-separated scenarios, in order; also "+strings.Join(ec2.Many(), ", "))
	if err := cfg.Parse(fs, args, "karpenter-aws", 15*time.Second); err != nil {
		return err
	}
	if cfg.Machines == 0 {
		cfg.Machines = 100
		if *handover {
			cfg.Machines = 50
		}
	}
	if cfg.Machines < 10 {
		return fmt.Errorf("-machines: %d is not a number from 10", cfg.Machines)
	}
	cfg.Scenarios = strings.Split(*scenarios, ",")
	if *handover {
		return handOver(ctx, cfg, cmp.Or(*out, "HANDOVER.md"))
	}
	file := "AWS.md"
	if !slices.ContainsFunc(cfg.Scenarios, func(name string) bool { return !slices.Contains(ec2.Many(), name) }) {
		file = "AWS-MANY.md"
	}
	measures, err := ec2.Run(ctx, cfg)
	return errors.Join(err, publish(cmp.Or(*out, file), ec2.Report(cfg, measures)))
}

// handOver writes the story of a handover; what must not be is an error.
func handOver(ctx context.Context, cfg ec2.Config, out string) error {
	acts, err := ec2.HandOver(ctx, cfg)
	if n := len(ec2.Faults(acts)); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d things came of the handover that must not", n))
	}
	return errors.Join(err, publish(out, ec2.ReportHandover(cfg, acts)))
}

// publish writes a report to a file, or to standard output if that is called -.
func publish(file, text string) error {
	if file == "-" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
