// Command bench runs placement and Karpenter's scheduler side by side and
// writes a markdown report.
//
//	go run ./cmd/bench                      every workload, to RESULTS.md
//	go run ./cmd/bench -run lognormal       those whose name matches
//	go run ./cmd/bench -group topology,core
//	go run ./cmd/bench -list
//	go run ./cmd/bench consolidation        disruption beside Karpenter's consolidation, to CONSOLIDATION.md
//	go run ./cmd/bench cluster              whole controllers in a sandbox, to CLUSTER.md
//	go run ./cmd/bench aws                  whole controllers on an emulated AWS, to AWS.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/karpenter"
	"github.com/millwright-dev/millwright/bench/millwright"
	"github.com/millwright-dev/millwright/bench/report"
	"github.com/millwright-dev/millwright/bench/suite"
	"github.com/millwright-dev/millwright/bench/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// command runs a sub-command, or placement if there is none. Asking for help is no
// error.
func command(ctx context.Context, args []string) error {
	var err error
	switch {
	case len(args) > 0 && args[0] == "consolidation":
		err = consolidate(ctx, args[1:])
	case len(args) > 0 && args[0] == "cluster":
		err = compareClusters(ctx, args[1:])
	case len(args) > 0 && args[0] == "aws":
		err = compareOnAWS(ctx, args[1:])
	default:
		err = place(ctx, args)
	}
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}

func place(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	return run(ctx, o)
}

// options are the flags.
type options struct {
	suite.Config
	name    *regexp.Regexp
	groups  []string
	engines []string
	list    bool
	out     string
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&o.out, "o", "RESULTS.md", "file for the report; - is standard output")
	fs.IntVar(&o.Iterations, "n", 3, "iterations of each engine on each workload")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of the workloads")
	fs.DurationVar(&o.CutOff, "cutoff", 5*time.Minute, "time limit of one solve; Karpenter's own, in its controller, is 1m")
	fs.DurationVar(&o.Enough, "enough", 30*time.Second, "no further iteration of a workload once an engine has taken this long")
	fs.BoolVar(&o.list, "list", false, "list the workloads and exit")
	name := fs.String("run", "", "regular expression of workload names, of any group")
	groups := fs.String("group", "core,large,topology", "comma-separated groups: core, large, topology; open are those that miss a target")
	engines := fs.String("engine", "", "comma-separated engines: millwright, karpenter (default both)")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.Iterations < 1:
		return o, errors.New("-n must be at least 1")
	case o.CutOff <= 0:
		return o, errors.New("-cutoff must be positive")
	}
	o.groups, o.engines = strings.Split(*groups, ","), strings.Split(strings.ToLower(*engines), ",")
	var err error
	if o.name, err = regexp.Compile(*name); err != nil {
		return o, fmt.Errorf("reading -run: %w", err)
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	if o.list {
		for _, w := range workload.All() {
			fmt.Printf("%-22s %s\n", w.Name, w.Group)
		}
		return nil
	}
	chosen := o.workloads()
	if len(chosen) == 0 {
		return errors.New("no such workload; -list lists them")
	}
	var err error
	if o.Types, err = fleet.EC2(); err != nil {
		return err
	}
	rows, err := o.measure(ctx, chosen)
	if err != nil {
		return err
	}
	return o.write(rows)
}

// workloads are those that the flags select; a name reaches any group.
func (o options) workloads() []workload.Workload {
	return slices.DeleteFunc(workload.All(), func(w workload.Workload) bool {
		if o.name.String() != "" {
			return !o.name.MatchString(w.Name)
		}
		return !slices.Contains(o.groups, string(w.Group))
	})
}

func (o options) measure(ctx context.Context, chosen []workload.Workload) ([]suite.Row, error) {
	theirs, err := karpenter.New()
	if err != nil {
		return nil, err
	}
	engines := slices.DeleteFunc([]bench.Engine{millwright.Engine{}, theirs}, func(e bench.Engine) bool {
		return o.engines[0] != "" && !slices.Contains(o.engines, strings.ToLower(e.Name()))
	})
	if len(engines) == 0 {
		return nil, errors.New("no such engine")
	}
	var rows []suite.Row
	for _, w := range chosen {
		err := suite.Run(ctx, o.Config, w, engines, func(r suite.Row) {
			rows = append(rows, r)
			fmt.Fprintln(os.Stderr, report.Line(r))
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// write writes the report, to standard output if the file cannot be had: the
// figures took minutes.
func (o options) write(rows []suite.Row) error {
	if o.out == "-" {
		return report.Write(os.Stdout, rows, o.about())
	}
	f, err := os.Create(o.out)
	if err != nil {
		return errors.Join(err, report.Write(os.Stdout, rows, o.about()))
	}
	return errors.Join(report.Write(f, rows, o.about()), f.Close())
}

// about says how the figures came about.
func (o options) about() []string {
	return []string{
		fmt.Sprintf("%s, %s/%s, %d CPUs, GOMAXPROCS %d; Karpenter %s; both engines in one process, one after the other.",
			runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0), version("sigs.k8s.io/karpenter")),
		fmt.Sprintf("Seed %d. Medians of %d iterations, fewer (see runs) once an engine had taken %v on a workload. A solve is cut off after %v; Karpenter's controller does so after 1m.",
			o.Seed, o.Iterations, o.Enough, o.CutOff),
		fmt.Sprintf("Catalogue: %d types (m, c and r families of EC2, on demand, three zones), %d of at most 32 vCPUs. One pool as in Karpenter's getting-started guide (linux, on demand, c, m and r, generation above 2) for both architectures, no DaemonSets and no nodes, unless the name says otherwise. Linear: the 144 types of Karpenter's KWOK provider, whose prices are linear in size, and the pool of CLUSTER.md.",
			len(o.Types), len(fleet.UpTo(o.Types, 32))),
		"Timed: everything from plain pods to the finished plan, what the pools leave of the catalogue included; for Karpenter a new cluster state, topology and scheduler, for Millwright the classing of the pods and a new snapshot. Not timed, and kept from one solve to the next by both: the instance types in the engine's own form, as their cloud providers and controllers keep them.",
		"CPU seconds are the process's, garbage collection included. Pods per second are those placed, and those that fit no machine at all. Peak heap is above the heap at the start. A price is that of each machine's cheapest offering that the plan allows.",
		"Arrivals: the pods of ten Deployments at a time come in a hundred waves, and how many their ReplicaSets still want is known. Each wave is planned anew beside the machines of those before; Karpenter's scheduler lives through all of them, its claims open to any type until the last, which its controller cannot.",
		"The bound is a linear relaxation, of whole contents of machines where there are few kinds of pods, computed apart from both engines; of topology rules it knows required anti-affinity over hostnames, for the three largest groups of pods. Price ÷ bound is over the pods that the engine placed.",
		"Every plan of every iteration was checked with Kubernetes' own libraries: offering and price, taints, selectors, room, each pod once, and required topology rules where a finished plan shows them.",
	}
}

// version is that of a module in this build.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return "unknown"
}
