package checkup

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/doctor"
)

// ExplainCommand says what a check is about, or which checks there are.
func ExplainCommand(w io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:               "explain [CHECK]",
		Short:             "Say what a check finds, why it matters and how it is mended, or list the checks",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(doctor.Checks(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return list(w)
			}
			title, text, ok := doctor.Explain(args[0])
			if !ok {
				return fmt.Errorf("there is no check %q; there are %s", args[0], strings.Join(doctor.Checks(), ", "))
			}
			_, err := fmt.Fprintf(w, "%s\n\n%s\n", title, text)
			return err
		},
	}
}

// list prints the checks, each with its title.
func list(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, check := range doctor.Checks() {
		title, _, _ := doctor.Explain(check)
		fmt.Fprintf(table, "%s\t%s\n", check, title)
	}
	return table.Flush()
}
