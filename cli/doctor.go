package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/checkup"
	"github.com/millwright-dev/millwright/doctor"
)

// examination is one call of `millwright doctor`.
type examination struct {
	kube      *genericclioptions.ConfigFlags
	files     []string
	recursive bool
	output    string

	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
}

func newDoctor(c console) *cobra.Command { return newDoctorWith(c, examination{connect: connect}) }

func newDoctorWith(c console, e examination) *cobra.Command {
	e.kube = genericclioptions.NewConfigFlags(true)
	cmd := &cobra.Command{
		Use:   "doctor [-f FILE...]",
		Short: "Find what will bite in pools, add-ons and workloads, with the fix",
		Long: `Find mistakes before they bite: agents of volumes and networks that a pool's taints
shut out, startup taints that nothing removes, budgets that never open, disruption
budgets that allow nothing, zonal volumes that are made too early. Each finding says
what will happen and how to mend it.

Without -f the cluster of the kubeconfig is examined, and what is not there counts as
missing. With -f it is manifests, as in a pull request: what is not among them is taken
to be elsewhere. Nothing is changed.

Checks: ` + strings.Join(doctor.Checks(), ", ") + `

Exit status:
  0  nothing of severity error was found
  1  something will break
  2  wrong usage, bad input, or an error`,
		Example: `  millwright doctor
  millwright doctor -R -f deploy/
  helm template cilium cilium/cilium -f values.yaml | millwright doctor -f pools.yaml -f -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", e.output, formatText, formatJSON, formatYAML); err != nil {
				return err
			}
			return e.run(cmd.Context(), c)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&e.files, "filename", "f", nil, "file, directory or - for standard input, instead of a cluster; may be repeated")
	flags.BoolVarP(&e.recursive, "recursive", "R", false, "look into the subdirectories of directories given with -f")
	flags.StringVarP(&e.output, "output", "o", formatText, "text, json or yaml")
	complete(cmd, "output", formatText, formatJSON, formatYAML)
	e.kube.AddFlags(flags)
	return cmd
}

func (e examination) run(ctx context.Context, c console) error {
	in, where, err := e.inventory(ctx, c)
	if err != nil {
		return err
	}
	findings := doctor.Examine(in)
	if err := e.print(c, findings, where); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Severity == doctor.Error }) {
		return errFindings
	}
	return nil
}

// inventory is that of the manifests, or else of the cluster, whose findings have no place.
func (e examination) inventory(ctx context.Context, c console) (*doctor.Inventory, func(doctor.Finding) string, error) {
	if len(e.files) == 0 {
		reader, err := e.connect(e.kube)
		if err != nil {
			return nil, nil, err
		}
		in, err := checkup.Cluster(ctx, reader, c.warn)
		return in, nil, err
	}
	input, err := c.read(e.files, e.recursive)
	if err != nil {
		return nil, nil, err
	}
	in, where := checkup.Manifests(c.unique(input.Objects))
	return in, where, nil
}

func (e examination) print(c console, findings []doctor.Finding, where func(doctor.Finding) string) error {
	switch {
	case e.output != formatText:
		document, err := checkup.Document(findings, where)
		if err != nil {
			return err
		}
		return printDocument(c.Out, e.output, document)
	case len(findings) == 0:
		fmt.Fprintln(c.Out, "Nothing found.")
		return nil
	}
	return doctor.Print(c.Out, findings, where)
}
