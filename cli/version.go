package cli

import (
	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cli/version"
)

// apiVersion is that of the documents which commands print.
const apiVersion = "millwright.dev/v1alpha1"

func newVersion(c console) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary and of the API that it speaks",
		Example: `  millwright version
  millwright version -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if output != "" {
				if err := oneOf("output", output, formatJSON, formatYAML); err != nil {
					return err
				}
			}
			v, err := version.This(apiVersion)
			if err != nil {
				return err
			}
			if output == "" {
				return v.Print(c.Out)
			}
			return printDocument(c.Out, output, v)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml; text if not given")
	complete(cmd, "output", formatJSON, formatYAML)
	return cmd
}
