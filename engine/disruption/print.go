package disruption

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Table prints a decision: a line for every machine, then what is to be done.
func (d *Decision) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprintln(t, "MACHINE\tVERDICT\tUNTIL\tWHY")
	for _, v := range d.Verdicts {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", v.Node.Name, v.Reason.Code, clock(v.Reason.Until), v.Reason.Message())
	}
	for _, c := range d.Commands {
		fmt.Fprintf(t, "%s\t%s %s\n", c.Node.Name, c.Step, c.Cause)
	}
	for _, n := range d.Rollbacks {
		fmt.Fprintf(t, "%s\tRollback\n", n.Name)
	}
	return t.Flush()
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
