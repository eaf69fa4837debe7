package finding

import (
	"fmt"
	"io"
	"strings"
)

// Print writes findings for people: what is wrong, and the fix ready to paste. where, if not
// nil, is the place of a finding in what people have written, such as pools.yaml:12.
func Print(w io.Writer, findings []Finding, where func(Finding) string) error {
	var b strings.Builder
	printed := map[string]string{}
	for i, f := range findings {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%-7s  %s  %s", f.Severity, f.Check, f.Object)
		if at := place(f, where); at != "" {
			fmt.Fprintf(&b, "  %s", at)
		}
		b.WriteString("\n")
		fmt.Fprintf(&b, "  %s: %s.\n", f.Field, strings.TrimSuffix(f.Message, "."))
		fmt.Fprintf(&b, "  fix: %s.\n", f.Advice)
		lines, err := fixLines(f)
		if err != nil {
			return err
		}
		switch above := printed[strings.Join(lines, "\n")]; {
		case len(lines) == 0:
		case above != "":
			fmt.Fprintf(&b, "    the same as for %s above\n", above)
		default:
			printed[strings.Join(lines, "\n")] = fmt.Sprintf("%s of %s", f.Check, f.Object)
			for _, line := range lines {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// place is where a finding's object was written, or else what it was generated from.
func place(f Finding, where func(Finding) string) string {
	if where != nil {
		if at := where(f); at != "" {
			return at
		}
	}
	return f.Origin
}

// fixLines are what to paste.
func fixLines(f Finding) ([]string, error) {
	switch {
	case f.Fix != nil:
		out := []string{f.Fix.Form + ": " + f.Fix.Do}
		for line := range strings.Lines(f.Fix.Text) {
			out = append(out, "  "+strings.TrimRight(line, "\n"))
		}
		return out, nil
	case f.Patch != nil:
		command, err := f.Patch.Command()
		return strings.Split(command, "\n"), err
	}
	return nil, nil
}
