package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/checkup"
	"github.com/millwright-dev/millwright/cli/findings"
	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cloud/aws"
	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// examination is one call of `millwright doctor`.
type examination struct {
	kube    *genericclioptions.ConfigFlags
	options checkup.Options
	output  string
	types   string
	clock   clock.PassiveClock

	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
}

func newDoctor(c console) *cobra.Command {
	return newDoctorWith(c, examination{connect: connect, clock: clock.RealClock{}})
}

func newDoctorWith(c console, e examination) *cobra.Command {
	e.kube = kubeconfig.ClusterFlags()
	cmd := &cobra.Command{
		Use:   "doctor [-f FILE...] [--helm-chart DIR|TGZ [--values FILE...]...]",
		Short: "Find what will bite in pools, add-ons and workloads, with the fix",
		Long: `Find mistakes before they bite: agents of volumes and networks that a pool's taints
shut out, startup taints that nothing removes, budgets that never open, disruption
budgets that allow nothing, zonal volumes that are made too early. Each finding says
what will happen and how to mend it.

Without -f the cluster of the kubeconfig is examined, and what is not there counts as
missing; --dump is a cluster that was written to a file. With -f it is manifests, with --helm-chart what a chart renders with the values
that are given, with --terraform what a plan or a state holds, with --eks-addon what
add-ons run, with --aws-document what the AWS CLI says of an account. All are joined, and what is not among them is taken to be elsewhere.
Nothing is changed.

The fix has the form in which the object is made: of a chart it is values, which were
tried by rendering the chart with them; of Terraform an argument; of an add-on its
configuration.

Checks: ` + strings.Join(doctor.Checks(), ", ") + `

Exit status:
  0  nothing was found of the severity that --fail-on names; what is listed as not
     examined, such as an add-on that is not known, does not change that
  1  something was
  2  wrong usage, bad input, or an error; also if nothing was, but not all of the
     cluster may be read`,
		Example: `  millwright doctor
  millwright doctor -R -f deploy/
  millwright doctor -f pools.yaml --helm-chart cilium.tgz --values values.yaml --release kube-system/cilium
  terraform show -json plan.out | millwright doctor --terraform - --with-cluster
  aws eks describe-addon --cluster-name live --addon-name coredns | millwright doctor -f pools.yaml --eks-addon -
  aws ec2 describe-subnets | millwright doctor --with-cluster --aws-document -
  kustomize build overlays/live | millwright doctor -f -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(oneOf("output", e.output, findings.Forms()...), e.options.Validate()); err != nil {
				return err
			}
			if cmd.Flags().Changed(instanceTypesFlag) { // no pool may ask
				if _, err := instanceTypes(e.types); err != nil {
					return err
				}
			}
			return e.run(cmd.Context(), c)
		},
	}
	flags := cmd.Flags()
	e.options.AddFlags(flags)
	flags.StringVarP(&e.output, "output", "o", formatText, strings.Join(findings.Forms(), ", "))
	complete(cmd, "output", findings.Forms()...)
	complete(cmd, "fail-on", "error", "warning", "never")
	addInstanceTypes(cmd, &e.types)
	e.kube.AddFlags(flags)
	cmd.AddCommand(checkup.ExplainCommand(c.Out))
	return cmd
}

func (e examination) run(ctx context.Context, c console) error {
	defer relayed(c)()
	found, in, err := e.options.Examine(ctx, checkup.Readers{
		Cluster: func() (client.Reader, error) { return e.connect(e.kube) },
		Manifests: func(files []string, recursive bool) (*manifest.Result, error) {
			input, err := c.read(files, recursive)
			if err != nil {
				return nil, err
			}
			input.Objects = c.unique(input.Objects)
			return input, nil
		},
		Account: func(ctx context.Context) (io.Reader, error) {
			return aws.Documents(ctx, aws.Config{Region: e.options.Region})
		},
		Types: func() ([]*catalog.Type, error) { return instanceTypes(e.types) },
		Stdin: c.In, Warn: c.warn,
	}, e.clock.Now(), c.note)
	if err != nil {
		return err
	}
	if err := (findings.Report{Findings: found, Where: in.Where, Skipped: in.Skipped}).Write(c.Out, e.output); err != nil {
		return err
	}
	if e.options.Fails(found) {
		return errFindings
	}
	return e.options.Complete(in)
}
