package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cli/bill"
	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cli/gates"
	"github.com/millwright-dev/millwright/cli/offline"
	"github.com/millwright-dev/millwright/cli/settings"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/placement/pending"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

type planOptions struct {
	files      []string
	recursive  bool
	output     string
	timing     bool
	until      string
	controller learned
	placement  placement.Options
}

// Values of --until.
const (
	untilNow     = "now"
	untilSettled = "settled"
)

func newPlan(c console) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan -f FILE...",
		Short: "Say what would be launched for the pending pods in manifests, without a cluster",
		Long: `Say what would be launched for the pending pods in plain Kubernetes manifests, at
what price, and what cannot be placed and why; and which of the machines that exist
would be removed or replaced, what that saves, and why the others stay. No cluster
is needed.

The manifests are what you write or what "kubectl get -o yaml" prints: NodePools
with their node classes, NodeClaims, Nodes, Pods, workloads, and what pods refer
to (PersistentVolumeClaims, PersistentVolumes, StorageClasses, PriorityClasses,
RuntimeClasses, LimitRanges …). A Deployment, ReplicaSet, StatefulSet or Job whose pods are
not there counts with the pods that it would have. Other kinds are left out, and
named on standard error.

Custom objects get the defaults of their CRDs and are checked as an API server
would check them. Of a dump, settings that are not given are those of the controller's
pod, which the controller's lease names; a note says which. The same input gives the same bytes; --timing prints times on
standard error.

` + exitCodes("a pod cannot be placed"),
		Example: `  # What would these pools launch for these workloads?
  millwright plan -R -f pools/ -f workloads/

  # And for the pods that are pending in a cluster right now?
  millwright dump | millwright plan -f -

  # What will these machines cost when consolidation has settled, and how many evictions until then?
  millwright plan -f dump.yaml --until settled

  # The price per hour, for a script
  millwright plan -f app.yaml -o json | jq .totalPricePerHour`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: each file needs its own -f, as in -f %s", args[0], strings.Join(args, " -f "))
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return o.run(c) },
	}
	o.addTo(cmd)
	return cmd
}

// addTo defines the flags.
func (o *planOptions) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files, "filename", "f", nil, "file, directory or - for standard input; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "look into the subdirectories of directories given with -f")
	flags.StringVarP(&o.output, "output", "o", formatTable, "output format: table, json or yaml")
	flags.Int64Var(&o.placement.MaxCPU, "max-cpu", 0, "launch no machine with more vCPUs than this; 0 is without bound")
	flags.IntVar(&o.placement.MinTypes, "min-types", 0, "leave every machine a choice of at least so many instance types")
	flags.StringVar(&o.until, "until", untilNow, "now, or settled: have what would be decided come true until nothing is left, and say what machines cost then")
	flags.BoolVar(&o.timing, "timing", false, "print how long reading and solving took, on standard error")
	o.controller.add(cmd)
	complete(cmd, "until", untilNow, untilSettled)
	complete(cmd, "output", formatTable, formatJSON, formatYAML)
	if err := cmd.MarkFlagFilename("filename", "yaml", "yml", "json"); err != nil {
		panic(err) // the flag was defined a few lines above
	}
}

func (o *planOptions) run(c console) error {
	if err := errors.Join(oneOf("output", o.output, formatTable, formatJSON, formatYAML), oneOf("until", o.until, untilNow, untilSettled)); err != nil {
		return err
	}
	if o.placement.MaxCPU < 0 || o.placement.MinTypes < 0 {
		return errors.New("--max-cpu and --min-types cannot be negative")
	}
	if len(o.files) == 0 {
		return errors.New("nothing to plan for: give manifests with -f\nSee 'millwright plan --help' for usage")
	}
	// One short life with a large input: collecting less often takes a quarter less
	// time. GOGC overrides it.
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	began := time.Now()
	store, objects, err := o.read(c)
	if err := errors.Join(err, o.controller.planning.Check()); err != nil {
		return err
	}
	types, err := instanceTypes(o.controller.types)
	if err != nil {
		return err
	}
	known, err := classes.New(types, o.controller.planning.Machines, bare(objects))
	if err != nil {
		return err
	}
	read := time.Now()
	look := func() *snapshot.Snapshot { return store.Snapshot(read, known.Of) }
	c.warnOf(offline.Contradicted(store, look, objects))
	s := look()
	if names := settings.Matter(o.controller.unknown, s); len(names) > 0 {
		c.note("settings %s", settings.Assumed(names))
	}
	c.warnOf(offline.Unready(objects, known.Unready()))
	c.warnOf(offline.Unbuffered(s, objects))
	fixed := offline.Staff(store, s, objects)
	opts := disruption.Options{Turn: 1, Placement: o.placement, TerminateFirstDrift: o.controller.gates.On(gates.TerminateFirstDrift)}
	o.controller.planning.Set(&opts.Placement)
	if o.until == untilSettled {
		return o.printBill(c.Out, bill.Of(bill.Input{Objects: offline.Complete(objects), Store: store, Now: read, Types: known.Of, Options: opts}))
	}
	p := placement.Solve(look(), opts.Placement)
	if len(s.Nodes) > 0 {
		disruption.Decide(s, opts).Report(s, p)
	}
	fixed.Report(p)
	p.Ignored = slices.Concat(p.Ignored, pending.Untried(s), offline.Suspended(bare(objects)))
	took := time.Since(read)
	for _, note := range slices.Concat(known.Notes(), offline.ShutOut(p, bare(objects))) {
		c.note("%s", note)
	}
	if o.timing {
		c.note("read in %.3fs, solved in %.3fs", read.Sub(began).Seconds(), took.Seconds())
	}
	if err := o.print(c.Out, p); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	if len(p.Unplaced) > 0 {
		return errFindings
	}
	return nil
}

// printBill prints what machines cost; pods without a place are objected to.
func (o planOptions) printBill(w io.Writer, b bill.Bill) error {
	var err error
	if o.output == formatTable {
		err = b.Table(w)
	} else {
		err = printDocument(w, o.output, b)
	}
	if err != nil {
		return fmt.Errorf("printing the bill: %w", err)
	}
	if b.Unplaced > 0 {
		return errFindings
	}
	return nil
}

func (o planOptions) print(w io.Writer, p *plan.Plan) error {
	if o.output == formatTable {
		return p.Table(w)
	}
	var document bytes.Buffer
	if err := p.JSON(&document); err != nil {
		return err
	}
	return writeAs(w, o.output, document.Bytes())
}
