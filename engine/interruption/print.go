package interruption

import (
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// String shows a decision as people and stories read it: what is done now, and
// for every event what happens when and why.
func (d *Decision) String() string {
	var b strings.Builder
	for _, r := range d.Responses {
		b.WriteString(r.String())
	}
	for _, q := range d.Requests {
		b.WriteString(q.String())
	}
	for _, e := range d.Strays {
		fmt.Fprintf(&b, "%s: about no machine of this cluster: %s%s%s\n", e.title(), e.Machine, e.Zone, e.Volume)
	}
	return b.String()
}

// String is one machine's part.
func (r Response) String() string {
	var b strings.Builder
	now := string(r.Action)
	if r.Uncordon {
		now = "Uncordon"
	}
	fmt.Fprintf(&b, "%s: %s", r.Node.Name, now)
	switch {
	case r.Deadline.Equal(drain.Never):
		b.WriteString(", whatever its terminationGracePeriod")
	case r.Deadline.IsZero() && r.WriteDeadline:
		b.WriteString(", forced no more")
	case !r.Deadline.IsZero():
		fmt.Fprintf(&b, ", forced at %s", stamp(r.Deadline))
	}
	if r.Ignores != "" {
		fmt.Fprintf(&b, ", ignores %s", strings.ReplaceAll(r.Ignores, ",", " and "))
	}
	switch {
	case r.Replace != nil:
		b.WriteString(", asks for a replacement")
	case r.GiveUp:
		b.WriteString(", gives its restart up")
	case r.Keep:
		b.WriteString(", asks for no replacement any more")
	}
	b.WriteString("\n")
	for _, p := range r.Evict {
		fmt.Fprintf(&b, "  evicts %s/%s\n", p.Namespace, p.Name)
	}
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "  %s: %s\n", v.Event.title(), v.when())
		fmt.Fprintf(&b, "    %s: %s\n", v.Reason.Code, v.Reason.Message())
		if last := v.last(); last != "" {
			fmt.Fprintf(&b, "    at %s %s\n", stamp(v.End), last)
		}
	}
	return b.String()
}

// String is what a request shows.
func (q Request) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "request %s: %s", q.Name, q.Phase)
	switch {
	case q.Missing:
		b.WriteString(", new")
	case q.Drop:
		b.WriteString(", deleted")
	}
	b.WriteString("\n")
	if q.Message != "" {
		fmt.Fprintf(&b, "  %s\n", q.Message)
	}
	if q.Phase == snapshot.RequestProposed {
		fmt.Fprintf(&b, "  unanswered: %s\n", q.Unanswered)
	}
	for _, p := range q.Pods {
		fmt.Fprintf(&b, "  %s/%s: %s\n", p.Namespace, p.Name, p.Fate)
	}
	return b.String()
}

func (e *Event) title() string {
	text := string(e.Kind)
	if e.Code != "" {
		text += "/" + string(e.Code)
	}
	return strings.TrimSpace(text + " " + e.ID)
}

// String is what is done about an event, when and why, on one line.
func (v Verdict) String() string {
	return fmt.Sprintf("%s: %s: %s", v.Event.title(), v.when(), v.Reason.Message())
}

// when says what is done when, and which rule says so.
func (v Verdict) when() string {
	by := "by default"
	if v.Rule > 0 {
		by = fmt.Sprintf("by rule %d", v.Rule)
	}
	if v.Instead != "" {
		by += fmt.Sprintf(" instead of %s: %s", snapshot.InterruptionRestart, v.Instead)
	}
	switch {
	case v.Action == snapshot.InterruptionIgnore:
		return fmt.Sprintf("%s, %s", v.Action, by)
	case v.Due:
		return fmt.Sprintf("%s now, %s", v.Action, by)
	case !v.Begins.IsZero():
		return fmt.Sprintf("%s at %s, %s", v.Action, stamp(v.Begins), by)
	}
	return fmt.Sprintf("not %s, %s", v.Action, by)
}

// last says what happens at the deadline; empty if there is none.
func (v Verdict) last() string {
	switch {
	case v.End.IsZero() || v.Event.Over():
		return ""
	case v.Forced:
		return "pods that are left have been made to go, in time for their grace"
	}
	return "the cloud acts, on whatever is left there"
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
