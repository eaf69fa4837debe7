package disruption

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Table prints a decision: a line for every machine, then what is to be done.
func (d *Decision) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprintln(t, "MACHINE\tVERDICT\tUNTIL\tWHY")
	for _, v := range d.Verdicts {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", v.Node.Name, v.Reason.Code, clock(v.Reason.Until), v.Reason.Message())
	}
	for _, c := range d.Commands {
		fmt.Fprintf(t, "%s\t%s %s%s\n", machines(c.Nodes), c.Step, c.Cause, launched(c))
	}
	for _, o := range d.Overdue {
		fmt.Fprintf(t, "%s\tRemove whatever holds\t%s\ttime for its pods\n", o.Node.Name, clock(o.Ends))
	}
	for _, r := range d.Rollbacks {
		failures := ""
		if r.Failures > 0 {
			failures = fmt.Sprintf(", %d failed in a row", r.Failures)
		}
		fmt.Fprintf(t, "%s\tRollback%s\n", r.Node.Name, failures)
		for _, n := range r.Discard {
			fmt.Fprintf(t, "%s\tDiscard\n", n.Name)
		}
	}
	for _, r := range d.Refusals {
		fmt.Fprintf(t, "%s/%s\tRefused\t%s\t%s\n", r.Pod.Namespace, r.Pod.Name, clock(r.Reason().Until), r.Reason().Message())
	}
	for _, p := range d.Agreed {
		fmt.Fprintf(t, "%s/%s\tAgreed\n", p.Namespace, p.Name)
	}
	for _, c := range d.DeletionCosts {
		fmt.Fprintf(t, "%s/%s\tCost %d\n", c.Pod.Namespace, c.Pod.Name, c.Cost)
	}
	return t.Flush()
}

func machines(nodes []*snapshot.Node) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	return strings.Join(names, ", ")
}

// launched says what comes instead, and what is saved.
func launched(c Command) string {
	text := ""
	for i := range c.Launch {
		key := c.Launch[i].Choice.Key()
		text += fmt.Sprintf(", launching %s %s/%s/%s", c.Launch[i].Pool, key.Type, key.Zone, key.CapacityType)
	}
	if c.Cause == Underutilized && c.Saving != 0 {
		text += ", saving " + plan.PerHour(c.Saving)
	}
	return text
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
