package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/engine/catalog"
)

const instanceTypesFlag = "instance-types"

const instanceTypesHelp = "what machines there are: ec2 (EC2's instance types in one region; spot prices are synthetic), kwok (KWOK's made-up types), or a file in KWOK's instance-types.json format, as \"millwright catalog export\" writes it"

// addInstanceTypes defines --instance-types.
func addInstanceTypes(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, instanceTypesFlag, classes.EC2, instanceTypesHelp)
	err := cmd.RegisterFlagCompletionFunc(instanceTypesFlag, cobra.FixedCompletions([]string{classes.EC2, classes.KWOK}, cobra.ShellCompDirectiveDefault))
	if err != nil {
		panic(err) // the flag was defined a line above
	}
}

// instanceTypes loads a built-in catalogue or a file.
func instanceTypes(name string) ([]*catalog.Type, error) {
	types, err := classes.Load(name)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", instanceTypesFlag, err)
	}
	return types, nil
}
