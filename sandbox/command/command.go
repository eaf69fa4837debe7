// Package command is the command line of the sandbox: up runs a cluster until it is told to
// stop, demo shows Millwright on one, inject turns a knob of a running one, aws serves an AWS
// and looks into one, version prints what is inside. Each command has its own file.
package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/sandbox/controlplane"
)

// New is the command "sandbox".
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "sandbox",
		Short:         "A Kubernetes cluster with a real control plane and simulated machines",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(newUp(), newDemo(), newInject(), newAWS(), newVersion())
	return cmd
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the control plane",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "Kubernetes", controlplane.KubernetesVersion)
			return err
		},
	}
}
