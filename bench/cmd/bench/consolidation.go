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
	"github.com/millwright-dev/millwright/engine/catalog"
)

// comparison is what the sub-command consolidation was asked for.
type comparison struct {
	seed    uint64
	limit   time.Duration
	chosen  *regexp.Regexp
	only    string // one engine, empty for both
	save    string
	earlier []consolidation.Result
}

// consolidate runs the sub-command consolidation.
func consolidate(ctx context.Context, args []string) error {
	var c comparison
	fs := flag.NewFlagSet("bench consolidation", flag.ContinueOnError)
	out := fs.String("o", "CONSOLIDATION.md", "file for the report; - is standard output")
	fs.Uint64Var(&c.seed, "seed", 1, "seed of the clusters")
	daySeeds := fs.Uint64("days", 3, "how many seeds of the day of changing load")
	theirDays := fs.Uint64("karpenter-days", 1, "how many of these seeds Karpenter lives through as well")
	note := fs.String("note", "", "a line for the report, such as what else ran on the machine")
	fs.DurationVar(&c.limit, "limit", 15*time.Minute, "CPU time after which an engine is stopped on one cluster")
	name := fs.String("run", "", "regular expression of case names")
	fs.StringVar(&c.only, "engine", "", "one engine: millwright, karpenter, or none to write a report of earlier runs (default both)")
	fs.StringVar(&c.save, "save", "", "file for the results, to be taken up with -with")
	with := fs.String("with", "", "file of an earlier run for the engines that -engine leaves out")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var err error
	if c.chosen, err = regexp.Compile(*name); err != nil {
		return fmt.Errorf("reading -run: %w", err)
	}
	if c.earlier, err = read(*with); err != nil {
		return err
	}
	types, err := consolidation.Types()
	if err != nil {
		return err
	}
	results, err := c.results(ctx, types)
	if err != nil {
		return err
	}
	about := c.about(len(types))
	if *note != "" {
		about = append(about, *note)
	}
	days, err := live(ctx, types, *daySeeds, *theirDays)
	if err != nil {
		return err
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

// live lives through days of so many seeds, until it is interrupted, the first of them under Karpenter
// as well.
func live(ctx context.Context, types []*catalog.Type, seeds, theirs uint64) (days [][]consolidation.Day, err error) {
	for s := range seeds {
		if ctx.Err() != nil {
			break
		}
		regimes := consolidation.Regimes()
		if s < theirs {
			regimes = append(regimes, consolidation.OfKarpenter()...)
		}
		var same []consolidation.Day
		for _, g := range regimes {
			d, err := consolidation.Live(ctx, g, types, s+1, 24)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", g.Name, err)
			}
			fmt.Fprintf(os.Stderr, "seed %d, %s: $%.2f, %d evictions\n", s+1, g.Name, d.Dollars, d.Evictions)
			same = append(same, d)
		}
		days = append(days, same)
	}
	return days, nil
}

// results plays the chosen cases, until it is interrupted, and takes up those of engines
// that are left out.
func (c *comparison) results(ctx context.Context, types []*catalog.Type) ([]consolidation.Result, error) {
	var out []consolidation.Result
	for _, k := range consolidation.Cases() {
		if !c.chosen.MatchString(k.Name) {
			continue
		}
		start, err := k.Cluster(types, c.seed)
		if err != nil {
			return nil, err
		}
		bound, err := consolidation.LowerBound(start)
		if err != nil {
			return nil, err
		}
		for _, e := range []consolidation.Engine{consolidation.Millwright{}, consolidation.Karpenter{}} {
			if c.only != "" && !strings.EqualFold(c.only, e.Name()) {
				out = append(out, of(c.earlier, k.Name, e.Name())...)
				continue
			}
			r, err := consolidation.Play(ctx, k.Name, start, e, c.limit)
			if err != nil {
				return nil, err
			}
			r.Bound = bound
			fmt.Fprintln(os.Stderr, r.Line())
			out = append(out, r)
			if err := keep(c.save, out); err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return out, nil
			}
		}
	}
	return out, nil
}

// about says how a comparison was made.
func (c *comparison) about(types int) []string {
	return []string{
		fmt.Sprintf("%s, %d CPUs, GOMAXPROCS %d; Karpenter %s as a library. Seed %d. An engine is stopped after %v of CPU time.",
			runtime.Version(), runtime.NumCPU(), runtime.GOMAXPROCS(0), version("sigs.k8s.io/karpenter"), c.seed, c.limit),
		fmt.Sprintf("Catalogue: %d types (m, c and r families of EC2 of at most 32 vCPUs, on demand, three zones). Machines of 4 to 16 vCPUs, of the third of each family's types that costs the least for a vCPU, pods of lognormal size (median 0.15 cores). With five pools, four are tainted and have pods of their own. consolidateAfter is 0s, budgets are 10 %%, the policy is WhenEmptyOrUnderutilized, everything else is as both have it by default.",
			types),
		"A decision is one pass: for Karpenter emptiness, multi-node and single-node consolidation until one has a command, without the 15 s for which it waits to validate each; for Millwright the whole of disruption.Decide and taking the snapshot. Commands are carried out at once. Three decisions without a command end a run; they count.",
		"Karpenter's search is bounded by time, a minute for the multi-node method and three for the single-node one. Here that is CPU time over GOMAXPROCS, the least that could pass on an idle machine: what it finds does not depend on what else runs.",
		"Timed: deciding. Not timed: what watches keep up to date for both. CPU seconds are the process's, garbage collection included.",
		"Every move was checked: taints, selectors, room, each pod once. The bound is the linear relaxation of RESULTS.md for all pods on new machines.",
	}
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
