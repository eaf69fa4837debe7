package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cloud/kwok"
	"github.com/millwright-dev/millwright/engine/catalog"
)

const instanceTypesFlag = "instance-types"

// Built-in catalogues.
const (
	ec2Types  = "ec2"
	kwokTypes = "kwok"
)

const instanceTypesHelp = "what machines there are: ec2 (EC2's instance types in one region; spot prices are synthetic), kwok (KWOK's made-up types), or a file in KWOK's instance-types.json format"

// addInstanceTypes defines --instance-types.
func addInstanceTypes(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, instanceTypesFlag, ec2Types, instanceTypesHelp)
	err := cmd.RegisterFlagCompletionFunc(instanceTypesFlag, cobra.FixedCompletions([]string{ec2Types, kwokTypes}, cobra.ShellCompDirectiveDefault))
	if err != nil {
		panic(err) // the flag was defined a line above
	}
}

// instanceTypes loads a built-in catalogue or a file.
func instanceTypes(name string) ([]*catalog.Type, error) {
	switch name {
	case ec2Types:
		return kwok.EC2Catalogue()
	case kwokTypes:
		return kwok.KWOKCatalogue(), nil
	case "":
		return nil, fmt.Errorf("--%s: must be %s, %s or a file", instanceTypesFlag, ec2Types, kwokTypes)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", instanceTypesFlag, err)
	}
	defer f.Close()
	types, err := kwok.ReadCatalogue(f)
	if err != nil {
		return nil, fmt.Errorf("--%s: %s: %w", instanceTypesFlag, name, err)
	}
	return types, nil
}
