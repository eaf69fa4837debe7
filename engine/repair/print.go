package repair

import (
	"fmt"
	"strings"
	"time"
)

// String shows a decision as people and stories read it.
func (d *Decision) String() string {
	var b strings.Builder
	for _, v := range d.Verdicts {
		fmt.Fprintf(&b, "%s: %s, %s: %s\n", v.Node.Name, v.Action, v.Reason.Code, v.Reason.Message())
	}
	for _, c := range d.Commands {
		fmt.Fprintf(&b, "%s %s%s\n", c.Do, c.Node.Name, deadline(c.Deadline))
	}
	for _, k := range d.Blocks {
		fmt.Fprintf(&b, "%s is blocked: %s\n", k.Pool, k.Reason.Code)
	}
	if !d.Recheck.IsZero() {
		fmt.Fprintf(&b, "again at %s\n", stamp(d.Recheck))
	}
	return b.String()
}

func deadline(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", forced at " + stamp(t)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
