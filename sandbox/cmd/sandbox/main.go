// Command sandbox runs a Kubernetes cluster with a real control plane and
// simulated machines. See "sandbox --help".
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/sandbox/command"
)

func main() {
	// Kubernetes' packages put flags of theirs where cobra looks for global ones.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)
	if err := command.New().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
}
