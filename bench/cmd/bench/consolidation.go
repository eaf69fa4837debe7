package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/bench/consolidation"
)

// consolidate runs the sub-command consolidation.
func consolidate(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("bench consolidation", flag.ContinueOnError)
	out := fs.String("o", "CONSOLIDATION.md", "file for the report; - is standard output")
	seed := fs.Uint64("seed", 1, "seed of the clusters")
	daySeeds := fs.Uint64("days", 3, "how many seeds of the day of changing load")
	note := fs.String("note", "", "a line for the report, such as what else ran on the machine")
	limit := fs.Duration("limit", 15*time.Minute, "CPU time after which an engine is stopped on one cluster")
	name := fs.String("run", "", "regular expression of case names")
	only := fs.String("engine", "", "one engine: millwright, karpenter, or none to write a report of earlier runs (default both)")
	save := fs.String("save", "", "file for the results, to be taken up with -with")
	with := fs.String("with", "", "file of an earlier run for the engines that -engine leaves out")
	if err := fs.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*name)
	if err != nil {
		return fmt.Errorf("reading -run: %w", err)
	}
	types, err := consolidation.Types()
	if err != nil {
		return err
	}
	earlier, err := read(*with)
	if err != nil {
		return err
	}
	var results []consolidation.Result
	for _, c := range consolidation.Cases() {
		if !chosen.MatchString(c.Name) {
			continue
		}
		start, err := c.Cluster(types, *seed)
		if err != nil {
			return err
		}
		bound, err := consolidation.LowerBound(start)
		if err != nil {
			return err
		}
		for _, e := range []consolidation.Engine{consolidation.Millwright{}, consolidation.Karpenter{}} {
			if *only != "" && !strings.EqualFold(*only, e.Name()) {
				results = append(results, of(earlier, c.Name, e.Name())...)
				continue
			}
			r, err := consolidation.Play(ctx, c.Name, start, e, *limit)
			if err != nil {
				return err
			}
			r.Bound = bound
			fmt.Fprintln(os.Stderr, r.Line())
			results = append(results, r)
			if err := keep(*save, results); err != nil {
				return err
			}
		}
	}
	about := []string{
		fmt.Sprintf("%s, %d CPUs, GOMAXPROCS %d; Karpenter %s as a library. Seed %d. An engine is stopped after %v of CPU time.",
			runtime.Version(), runtime.NumCPU(), runtime.GOMAXPROCS(0), version("sigs.k8s.io/karpenter"), *seed, *limit),
		fmt.Sprintf("Catalogue: %d types (m, c and r families of EC2 of at most 32 vCPUs, on demand, three zones). Machines of 4 to 16 vCPUs, of the third of each family's types that costs the least for a vCPU, pods of lognormal size (median 0.15 cores). With five pools, four are tainted and have pods of their own. consolidateAfter is 0s, budgets are 10 %%, the policy is WhenEmptyOrUnderutilized, everything else is as both have it by default.",
			len(types)),
		"A decision is one pass: for Karpenter emptiness, multi-node and single-node consolidation until one has a command, without the 15 s for which it waits to validate each; for Millwright the whole of disruption.Decide and taking the snapshot. Commands are carried out at once. Three decisions without a command end a run; they count.",
		"Karpenter's search is bounded by time, a minute for the multi-node method and three for the single-node one. Here that is CPU time over GOMAXPROCS, the least that could pass on an idle machine: what it finds does not depend on what else runs.",
		"Timed: deciding. Not timed: what watches keep up to date for both. CPU seconds are the process's, garbage collection included.",
		"Every move was checked: taints, selectors, room, each pod once. The bound is the linear relaxation of RESULTS.md for all pods on new machines.",
	}
	if *note != "" {
		about = append(about, *note)
	}
	var days [][]consolidation.Day
	for s := range *daySeeds {
		day, err := consolidation.Days(types, s+1)
		if err != nil {
			return err
		}
		days = append(days, day)
	}
	write := func(f *os.File) error {
		return errors.Join(consolidation.Write(f, results, about), consolidation.WriteDays(f, days))
	}
	if *out == "-" {
		return write(os.Stdout)
	}
	f, err := os.Create(*out)
	if err != nil {
		return errors.Join(err, write(os.Stdout))
	}
	return errors.Join(write(f), f.Close())
}

func read(file string) ([]consolidation.Result, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading an earlier run: %w", err)
	}
	var out []consolidation.Result
	return out, json.Unmarshal(text, &out)
}

func of(list []consolidation.Result, name, engine string) []consolidation.Result {
	return slices.DeleteFunc(slices.Clone(list), func(r consolidation.Result) bool { return r.Case != name || r.Engine != engine })
}

func keep(file string, results []consolidation.Result) error {
	if file == "" {
		return nil
	}
	text, err := json.Marshal(results)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
