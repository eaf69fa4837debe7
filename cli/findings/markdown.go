package findings

import (
	"fmt"
	"io"
	"strings"

	"github.com/millwright-dev/millwright/doctor"
)

// markdown is a table of the findings, each with its fix below, for a comment on a change.
func (r Report) markdown(w io.Writer) error {
	var b strings.Builder
	errors, warnings := r.count()
	fmt.Fprintf(&b, "## millwright doctor: %s, %s\n", plural(errors, "error"), plural(warnings, "warning"))
	for i, what := range r.Skipped {
		if i == 0 {
			b.WriteString("\nNot examined:\n")
		}
		fmt.Fprintf(&b, "- %s\n", cell(what))
	}
	if len(r.Findings) > 0 {
		b.WriteString("\n| | check | object | what |\n|---|---|---|---|\n")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", f.Severity, f.Check, f.Object, cell(f.Field+": "+f.Message))
	}
	for _, f := range r.Findings {
		do, text, err := mend(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n<details><summary>%s of %s: %s</summary>\n", f.Check, f.Object, f.Advice)
		for _, block := range []string{do, text} {
			if block != "" {
				fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.TrimRight(block, "\n"))
			}
		}
		b.WriteString("\n</details>\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) count() (errors, warnings int) {
	for _, f := range r.Findings {
		if f.Severity == doctor.Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// cell is a text that a table's cell can hold.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}
