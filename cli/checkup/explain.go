package checkup

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/doctor"
)

// ExplainCommand says what a check is about.
func ExplainCommand(w io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:               "explain CHECK",
		Short:             "Say what a check finds, why it matters and how it is mended",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(doctor.Checks(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			title, text, ok := doctor.Explain(args[0])
			if !ok {
				return fmt.Errorf("there is no check %q; there are %s", args[0], strings.Join(doctor.Checks(), ", "))
			}
			_, err := fmt.Fprintf(w, "%s\n\n%s\n", title, text)
			return err
		},
	}
}
