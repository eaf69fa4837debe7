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
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/doctor"
)

// examination is one call of `millwright doctor`.
type examination struct {
	kube   *genericclioptions.ConfigFlags
	given  checkup.Given
	output string

	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
}

func newDoctor(c console) *cobra.Command { return newDoctorWith(c, examination{connect: connect}) }

func newDoctorWith(c console, e examination) *cobra.Command {
	e.kube = genericclioptions.NewConfigFlags(true)
	cmd := &cobra.Command{
		Use:   "doctor [-f FILE...] [--helm-chart DIR|TGZ [--values FILE...]...]",
		Short: "Find what will bite in pools, add-ons and workloads, with the fix",
		Long: `Find mistakes before they bite: agents of volumes and networks that a pool's taints
shut out, startup taints that nothing removes, budgets that never open, disruption
budgets that allow nothing, zonal volumes that are made too early. Each finding says
what will happen and how to mend it.

Without -f the cluster of the kubeconfig is examined, and what is not there counts as
missing. With -f it is manifests, with --helm-chart what a chart renders with the values
that are given, with --terraform what a plan or a state holds, with --eks-addon what
add-ons run. All are joined, and what is not among them is taken to be elsewhere.
Nothing is changed.

The fix has the form in which the object is made: of a chart it is values, which were
tried by rendering the chart with them; of Terraform an argument; of an add-on its
configuration.

Checks: ` + strings.Join(doctor.Checks(), ", ") + `

Exit status:
  0  nothing of severity error was found
  1  something will break
  2  wrong usage, bad input, or an error`,
		Example: `  millwright doctor
  millwright doctor -R -f deploy/
  millwright doctor -f pools.yaml --helm-chart cilium.tgz --values values.yaml --release kube-system/cilium
  terraform show -json plan.out | millwright doctor --terraform - --with-cluster
  aws eks describe-addon --cluster-name live --addon-name coredns | millwright doctor -f pools.yaml --eks-addon -
  kustomize build overlays/live | millwright doctor -f -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", e.output, formatText, formatJSON, formatYAML); err != nil {
				return err
			}
			return e.run(cmd.Context(), c)
		},
	}
	flags := cmd.Flags()
	e.given.AddFlags(flags)
	flags.StringVarP(&e.output, "output", "o", formatText, "text, json or yaml")
	complete(cmd, "output", formatText, formatJSON, formatYAML)
	e.kube.AddFlags(flags)
	return cmd
}

func (e examination) run(ctx context.Context, c console) error {
	in, err := e.given.Take(ctx, checkup.Readers{
		Cluster: func() (client.Reader, error) { return e.connect(e.kube) },
		Manifests: func(files []string, recursive bool) ([]manifest.Object, error) {
			input, err := c.read(files, recursive)
			if err != nil {
				return nil, err
			}
			return c.unique(input.Objects), nil
		},
		Stdin: c.In, Warn: c.warn,
	})
	if err != nil {
		return err
	}
	findings, err := in.Examine()
	if err != nil {
		return err
	}
	if err := e.print(c, findings, in.Where); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Severity == doctor.Error }) {
		return errFindings
	}
	return nil
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
