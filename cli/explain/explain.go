// Package explain says in a few lines why a pod waits, why a machine stays or goes, and
// what holds for the machines of a pool, each with what would have to change.
package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Cluster is a cluster and what the controller would decide about it now.
type Cluster struct {
	s       *snapshot.Snapshot
	plan    *plan.Plan
	decided *disruption.Decision
}

// Of asks the engine as the controller does.
func Of(s *snapshot.Snapshot) *Cluster {
	return &Cluster{s, placement.Solve(s, placement.Options{}), disruption.Decide(s, disruption.Options{})}
}

// shownMessages is how many lines of reasons a pod gets.
const shownMessages = 8

// Pod says what becomes of a pod; an error says that there is none of that name.
func (c *Cluster) Pod(b *strings.Builder, namespace, name string) error {
	is := func(p *snapshot.Pod) bool { return p.Namespace == namespace && p.Name == name }
	title := fmt.Sprintf("pod/%s in namespace %s", name, namespace)
	for _, u := range slices.Concat(c.plan.Unplaced, c.plan.Ignored) {
		if is(u.Pod) {
			unplaced(b, title, u)
			return nil
		}
	}
	for _, at := range c.plan.Placements {
		if is(at.Pod) {
			fmt.Fprintf(b, "%s has room on %s; its scheduler has to put it there.\n", title, at.Node.Name)
			return nil
		}
	}
	for i := range c.plan.NewNodes {
		n := &c.plan.NewNodes[i]
		if slices.ContainsFunc(n.Pods, is) {
			key := n.Choice.Key()
			fmt.Fprintf(b, "%s gets a new machine of nodepool/%s: %s in %s, %s.\n", title, n.Pool, key.Type, key.Zone, key.CapacityType)
			return nil
		}
	}
	for _, n := range c.s.Nodes {
		if slices.ContainsFunc(n.Pods, is) {
			fmt.Fprintf(b, "%s has a machine: node/%s.\n", title, n.Name)
			return nil
		}
	}
	return fmt.Errorf("%s does not exist, or has ended", title)
}

func unplaced(b *strings.Builder, title string, u plan.Unplaced) {
	fmt.Fprintf(b, "%s gets no machine.\n\n", title)
	for _, text := range plan.Messages(u.Reasons, shownMessages) {
		fmt.Fprintf(b, "  %s\n", text)
	}
	fixes(b, u.Reasons)
}

// fixes lists what would have to change, each once.
func fixes(b *strings.Builder, reasons []plan.Reason) {
	var lines []string
	add := func(text string) {
		if text != "" && !slices.Contains(lines, text) && len(lines) < shownMessages {
			lines = append(lines, text)
		}
	}
	for _, r := range reasons {
		add(r.Fix())
		for _, with := range r.With {
			add(plan.Reason{Code: with.Code, Objects: r.Objects, Want: with.Want, Have: with.Have}.Fix())
		}
	}
	if len(lines) > 0 {
		b.WriteString("\nWhat would have to change:\n  " + strings.Join(lines, "\n  ") + "\n")
	}
}

// Machine says of the machine of a claim, if it works, why it goes or stays.
func (c *Cluster) Machine(b *strings.Builder, claim string) {
	v, ok := c.decided.Verdict(claim)
	if !ok {
		return
	}
	if v.Disrupting {
		fmt.Fprintf(b, "It is on its way out (%s): %s.\n", v.Cause, v.Reason.Message())
		return
	}
	fmt.Fprintf(b, "It stays (%s): %s.\n", v.Reason.Code, v.Reason.Message())
	if !v.Reason.Since.IsZero() {
		fmt.Fprintf(b, "That has been so since %s.\n", v.Reason.Since.UTC().Format(time.RFC3339))
	}
	if !v.Reason.Until.IsZero() {
		fmt.Fprintf(b, "It is looked at again at %s.\n", v.Reason.Until.UTC().Format(time.RFC3339))
	}
	if v.Saving > 0 {
		fmt.Fprintf(b, "Otherwise $%.4f/h could be saved.\n", v.Saving)
	}
	fixes(b, []plan.Reason{v.Reason})
}

// Pool counts the verdicts of a pool's machines and says what its budgets allow; an
// error says that there is none of that name.
func (c *Cluster) Pool(b *strings.Builder, name string) error {
	p := c.s.Pool(name)
	if p == nil {
		return fmt.Errorf("nodepool/%s does not exist", name)
	}
	byCode, price, count := map[plan.Code][]disruption.Verdict{}, 0.0, 0
	for _, v := range c.decided.Verdicts {
		if v.Node.Pool() == name {
			byCode[v.Reason.Code] = append(byCode[v.Reason.Code], v)
			price += disruption.Price(p, v.Node)
			count++
		}
	}
	fmt.Fprintf(b, "nodepool/%s has %d machines for $%.4f/h.\n", name, count, price)
	if p.NotReady != "" {
		fmt.Fprintf(b, "It launches nothing: %s.\n", p.NotReady)
	}
	for _, a := range c.decided.Allowances {
		if a.Pool == name && a.Allowed != disruption.Unlimited {
			fmt.Fprintf(b, "Its budgets let %d more of %d go because they are %s.\n", a.Remaining(), a.Nodes, a.Cause)
		}
	}
	var reasons []plan.Reason
	for i, code := range slices.Sorted(maps.Keys(byCode)) {
		if i == 0 {
			b.WriteString("\nVerdicts:\n")
		}
		if i < shownMessages {
			first := byCode[code][0]
			fmt.Fprintf(b, "  %3d %s, such as %s: %s\n", len(byCode[code]), code, first.Node.Name, first.Reason.Message())
			reasons = append(reasons, first.Reason)
		}
	}
	fixes(b, reasons)
	return nil
}
