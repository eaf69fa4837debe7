package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const clock = "15:04:05"

// String prints a step as a checklist, for people and for tests.
func (s Step) String() string {
	var b strings.Builder
	if s.Search {
		b.WriteString("look for the claim's machine\n")
	}
	for _, c := range s.Launch {
		fmt.Fprintf(&b, "launch %s %s %s\n", c.Type.Name, c.Offering.Zone, c.Offering.CapacityType)
	}
	if s.Delete != "" {
		fmt.Fprintf(&b, "delete the claim: %s\n", s.Delete)
	}
	if s.UntaintedNode {
		b.WriteString("the Node joined without the unregistered taint\n")
	}
	for _, k := range slices.Sorted(maps.Keys(s.Annotations)) {
		fmt.Fprintf(&b, "NodeClaim: annotation %s=%s\n", k, s.Annotations[k])
	}
	if s.Overdue != nil {
		fmt.Fprintf(&b, "tell the owner: %s\n", s.Overdue.Reason.Message())
	}
	if s.Node != nil {
		b.WriteString(s.Node.String())
	}
	for _, c := range s.Conditions {
		fmt.Fprintf(&b, "%s=%s %s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			b.WriteString(": " + c.Message)
		}
		b.WriteString("\n")
	}
	for _, g := range s.Gates {
		b.WriteString(g.String() + "\n")
	}
	if !s.Wake.IsZero() {
		b.WriteString("again at " + s.Wake.Format(clock) + "\n")
	}
	return b.String()
}

// String is one line of the checklist.
func (g Gate) String() string {
	mark, why := "[x] ", ""
	if !g.Open {
		mark, why = "[ ] ", ": "+string(g.Reason.Code)
	}
	if !g.Since.IsZero() {
		why += " since " + g.Since.Format(clock)
	}
	return mark + string(g.Name) + why
}

// String lists what is written.
func (n *NodeChange) String() string {
	var b strings.Builder
	if n.TakeOver {
		b.WriteString("Node: finalizer and owner\n")
	}
	for _, t := range n.AddTaints {
		fmt.Fprintf(&b, "Node: taint %s\n", t.ToString())
	}
	for _, t := range n.RemoveTaints {
		fmt.Fprintf(&b, "Node: no taint %s\n", t.ToString())
	}
	for _, m := range []struct {
		kind   string
		values map[string]string
	}{{"label", n.Labels}, {"annotation", n.Annotations}} {
		for _, k := range slices.Sorted(maps.Keys(m.values)) {
			fmt.Fprintf(&b, "Node: %s %s=%s\n", m.kind, k, m.values[k])
		}
	}
	return b.String()
}
