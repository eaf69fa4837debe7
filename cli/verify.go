package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/cli/target"
)

// verification is one call of `millwright verify`.
type verification struct {
	kube    *genericclioptions.ConfigFlags
	timeout time.Duration
	atLeast int
	output  string
	about   target.Query

	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
	clock   clock.Clock
}

// pollEvery is how often the cluster is read while something is missing.
const pollEvery = time.Second

func newVerify(c console) *cobra.Command {
	connect, theirs := timed()
	return newVerifyWith(c, verification{connect: connect, clock: theirs})
}

func newVerifyWith(c console, v verification) *cobra.Command {
	v.kube = kubeconfig.ClusterFlags()
	v.about.Kinds = []string{target.Node, target.Claim, target.Pool}
	cmd := &cobra.Command{
		Use:   "verify node|nodeclaim|nodepool NAME... | TYPE/NAME... | TYPE [-l SELECTOR]",
		Short: "Wait until machines are ready for work, and prove it",
		Long: `Wait until the nodes are initialized, and print what they have passed as a
checklist with times. It is made for pipelines: after a new image or NodePool,
let a machine be launched and verify it before going on.

A pool is verified when all its machines are initialized, and at least --at-least.
When the time is up, the gate that holds a machine is printed with the object to
look at and since when.

It reads NodeClaims and Nodes, and other objects as far as it may; it needs no
access to the controller.

Exit status:
  0  all are initialized
  1  the time is up and something is not
  2  wrong usage, or an error`,
		Example: `  millwright verify nodepool/general --timeout 10m
  millwright verify node ip-10-0-0-1.ec2.internal ip-10-0-0-2.ec2.internal
  millwright verify nodes -l node.kubernetes.io/instance-type=m7g.large`,
		Args:              needs("which nodes", "verify nodepool/NAME"),
		ValidArgsFunction: v.about.Complete(v.connect, v.kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("output", v.output, formatTable, formatJSON, formatYAML); err != nil {
				return err
			}
			reader, err := v.connect(v.kube)
			if err != nil {
				return err
			}
			about, err := v.about.Parse(cmd.Context(), reader, "", args)
			if err != nil {
				return err
			}
			return v.run(cmd.Context(), c, reader, about)
		},
	}
	cmd.Flags().StringVarP(&v.about.Selector, "selector", "l", "", "label selector, instead of names")
	cmd.Flags().DurationVar(&v.timeout, "timeout", 10*time.Minute, "how long to wait")
	cmd.Flags().IntVar(&v.atLeast, "at-least", 1, "how many machines a pool must have")
	cmd.Flags().StringVarP(&v.output, "output", "o", formatTable, "table, json or yaml")
	complete(cmd, "output", formatTable, formatJSON, formatYAML)
	v.kube.AddFlags(cmd.Flags())
	return cmd
}

// run waits and prints.
func (v verification) run(ctx context.Context, c console, reader client.Reader, about []target.Target) error {
	up := v.clock.NewTimer(v.timeout) // however the time changes
	defer up.Stop()
	for {
		in, err := take(ctx, reader, v.clock.Now, false, noOptions)
		if err != nil {
			return err
		}
		if _, problems := v.look(in, about); len(problems) == 0 {
			return v.conclude(ctx, c, reader, about)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-up.C():
			return v.conclude(ctx, c, reader, about)
		case <-v.clock.After(pollEvery):
		}
	}
}

// conclude reads everything once more and prints what came of it.
func (v verification) conclude(ctx context.Context, c console, reader client.Reader, about []target.Target) error {
	in, err := take(ctx, reader, v.clock.Now, true, noOptions)
	if err != nil {
		return err
	}
	all, problems := v.look(in, about)
	if v.output != formatTable {
		return reportDocument(c.Out, v.output, all, problems)
	}
	return report(c.Out, all, problems, v.timeout)
}

// look finds the machines and what is wrong with them.
func (v verification) look(in *inventory, about []target.Target) (all []*explain.Machine, problems []string) {
	for _, t := range about {
		kind, name := t.Kind(), t.Name
		found, missing := in.find(kind, name)
		if missing != "" && (kind != target.Pool || v.atLeast > 0) {
			problems = append(problems, missing)
		}
		if kind == target.Pool && missing == "" && len(found) < v.atLeast {
			problems = append(problems, fmt.Sprintf("nodepool/%s has %d of at least %d machines", name, len(found), v.atLeast))
		}
		for _, m := range found {
			if _, ok := m.Initialized(); !ok {
				text, since := m.WaitsFor()
				problems = append(problems, fmt.Sprintf("%s is not initialized: %s (since %s)", m.Title(), text, explain.Stamp(since)))
			}
		}
		all = append(all, found...)
	}
	return all, problems
}

func report(w io.Writer, all []*explain.Machine, problems []string, waited time.Duration) error {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(m.Checklist())
	}
	for _, p := range problems {
		fmt.Fprintln(&b, p)
	}
	if len(problems) == 0 {
		fmt.Fprintf(&b, "%s initialized\n", count(len(all), "machine is", "machines are"))
	} else {
		fmt.Fprintf(&b, "not verified within %v\n", waited)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(problems) > 0 {
		return errFindings
	}
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
