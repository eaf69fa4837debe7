// Package export is `millwright catalog`: what a cloud sells, as a file that plan and why read.
package export

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cloud/aws"
	"github.com/millwright-dev/millwright/cloud/kwok"
)

// New is the command; what it exports goes to out.
func New(out io.Writer) *cobra.Command {
	catalog := &cobra.Command{
		Use:   "catalog",
		Short: "Work with catalogues of instance types",
	}
	catalog.AddCommand(newExport(out))
	return catalog
}

func newExport(out io.Writer) *cobra.Command {
	var c aws.ProviderConfig
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write what AWS sells in a region to standard output, for --instance-types",
		Long: `Ask AWS what it sells in a region, and write instance types, zones and prices to
standard output, in KWOK's instance-types.json format. "millwright plan" and "millwright
why" read the file with --instance-types; with EC2NodeClasses it is as if they asked the
region. Credentials and region are found as by AWS's own tools.

It calls ec2:DescribeInstanceTypes, ec2:DescribeInstanceTypeOfferings,
ec2:DescribeSpotPriceHistory and pricing:GetProducts, and changes nothing.`,
		Example: `  millwright catalog export --aws-region eu-central-1 > frankfurt.json
  millwright plan -R -f manifests/ --instance-types frankfurt.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			types, err := aws.Export(cmd.Context(), c)
			if err != nil {
				return err
			}
			if err := kwok.WriteCatalogue(out, types); err != nil {
				return fmt.Errorf("writing the catalogue: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&c.Region, "aws-region", "", "region to ask about; if empty that of AWS's configuration")
	cmd.Flags().BoolVar(&c.Isolated, "isolated-vpc", false, "do not ask for on-demand prices; those that are built in for the region, or else for us-east-1, take their place")
	return cmd
}
