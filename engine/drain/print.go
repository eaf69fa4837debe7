package drain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/plan"
)

const clock = "15:04:05"

// String prints a step as a checklist, for people and for tests.
func (s Step) String() string {
	var b strings.Builder
	b.WriteString(string(s.Phase))
	if !s.Wake.IsZero() {
		b.WriteString(", again at " + s.Wake.Format(clock))
	}
	b.WriteString("\n")
	for _, p := range s.Evict {
		fmt.Fprintf(&b, "  evict %s/%s", p.Namespace, p.Name)
		if grace := s.Fitted(p); grace > 0 {
			fmt.Fprintf(&b, ", %s left", grace)
		}
		b.WriteString("\n")
	}
	for _, d := range s.Delete {
		fmt.Fprintf(&b, "  delete %s/%s, %s left\n", d.Pod.Namespace, d.Pod.Name, d.Grace)
	}
	for _, v := range slices.Concat(s.Hooks, s.Pods, s.Volumes) {
		b.WriteString("  " + v.String() + "\n")
	}
	for _, f := range s.Forgetful {
		b.WriteString("  mend: " + f.Message() + "\n")
	}
	for _, l := range s.LeftBehind {
		b.WriteString("  left behind: " + l.Objects[0].String() + "\n")
	}
	for _, c := range s.Conditions {
		fmt.Fprintf(&b, "  %s=%s %s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			b.WriteString(": " + c.Message)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// String is one line of the checklist.
func (v Verdict) String() string {
	out := v.Objects[0].String() + " does not wait: "
	if v.Waits {
		out = v.Objects[0].String() + " waits: "
	}
	out += string(v.Code)
	for _, o := range v.Objects[1:] {
		out += " " + o.String()
	}
	out += detail(v.Reason)
	return out
}

func detail(r plan.Reason) string {
	out := ""
	if r.Want != "" {
		out += ", is " + r.Want
	}
	if r.Have != "" {
		out += ", now " + r.Have
	}
	if !r.Until.IsZero() {
		out += ", until " + r.Until.Format(clock)
	}
	if !r.Since.IsZero() {
		out += ", since " + r.Since.Format(clock)
	}
	return out
}
