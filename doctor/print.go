package doctor

import (
	"fmt"
	"io"
	"strings"
)

// Print writes findings for people: what is wrong, and the fix ready to paste. where, if not
// nil, is the place of a finding in what people have written, such as pools.yaml:12.
func Print(w io.Writer, findings []Finding, where func(Finding) string) error {
	var b strings.Builder
	for i, f := range findings {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%-7s  %s  %s", f.Severity, f.Check, f.Object)
		if where != nil {
			fmt.Fprintf(&b, "  %s", where(f))
		}
		b.WriteString("\n")
		fmt.Fprintf(&b, "  %s: %s.\n", f.Field, f.Message)
		fmt.Fprintf(&b, "  fix: %s.\n", f.Advice)
		if f.Patch != nil {
			command, err := f.Patch.Command()
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "    %s\n", command)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
