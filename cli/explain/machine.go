package explain

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/repair"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Machine is a claim as it stands: what its conditions say, and what follows from
// the objects themselves.
type Machine struct {
	Claim *snapshot.Claim
	// Node is the Node's name, empty if there is none.
	Node string
	// Step is what the state machine of its initialization says.
	Step lifecycle.Step
}

// Title names the machine by its node, if there is one.
func (m *Machine) Title() string { return m.object().String() }

// Initialized reports whether the claim says that the machine is ready for work,
// and since when.
func (m *Machine) Initialized() (time.Time, bool) {
	c := m.Claim.Conditions[snapshot.Initialized]
	return c.Since, c.Status == corev1.ConditionTrue && m.Claim.Deleted.IsZero()
}

// WaitsFor is what the claim's own conditions say that it waits for, and since
// when: the first of Launched, Registered and Initialized that is not True.
func (m *Machine) WaitsFor() (text string, since time.Time) {
	if !m.Claim.Deleted.IsZero() {
		text = "it is being deleted"
		if reason := m.Claim.Annotations[lifecycle.GivenUpAnnotation]; reason != "" {
			text += ": it was given up (" + reason + ")"
		}
		return text, m.Claim.Deleted
	}
	for _, name := range []string{snapshot.Launched, snapshot.Registered, snapshot.Initialized} {
		c := m.Claim.Conditions[name]
		if c.Status == corev1.ConditionTrue {
			continue
		}
		untold := "the controller has not looked at it yet"
		if b := m.Step.Blocker(); b != nil {
			since = b.Since
			if b.Name == lifecycle.GateLaunched { // it asks the cloud first, and writes what that answers
				untold = b.Reason.Message()
			}
		}
		return cmp.Or(c.Message, c.Reason, untold), cmp.Or(since, c.Since, m.Claim.Created)
	}
	return "", time.Time{}
}

// Answer says whether the machine is ready for work, and if not what it waits for;
// and first, if it is broken, what is wrong. Of one that is ready, [Cluster.Machine]
// knows more.
func (m *Machine) Answer(now time.Time) *Answer {
	a := &Answer{Object: m.object(), NodeClaim: m.Claim.Name, NodePool: m.Claim.Pool, Verdict: Stays, Gates: m.Gates(), Reasons: []plan.Reason{}, Fixes: []Fix{}}
	m.health(a)
	if at, ok := m.Initialized(); ok {
		a.say(fmt.Sprintf("%s has been ready since %s, %v after its NodeClaim was created.", m.Title(), Stamp(at), at.Sub(m.Claim.Created).Round(time.Second)))
		if m.Claim.Is(snapshot.Interrupted) {
			a.say(fmt.Sprintf("The cloud has announced %s.", m.Claim.Conditions[snapshot.Interrupted].Message))
		}
		return a
	}
	text, since := m.WaitsFor()
	a.Verdict, a.Since = Starting, since.UTC()
	a.say(fmt.Sprintf("%s is not ready: %s.", m.Title(), strings.TrimSuffix(text, ".")))
	a.say(fmt.Sprintf("That has been so since %s (%v).", Stamp(since), now.Sub(since).Round(time.Second)))
	a.detail = m.Checklist()
	for _, g := range m.Step.Gates {
		if !g.Open {
			a.Reasons = append(a.Reasons, g.Reason)
		}
	}
	a.Fixes = append(a.Fixes, m.fixes()...)
	return a
}

func (m *Machine) object() plan.ObjectRef {
	if m.Node == "" {
		return plan.ClaimRef(m.Claim.Name)
	}
	return plan.NodeRef(m.Node)
}

// Checklist is what the machine has passed and what not, with times.
func (m *Machine) Checklist() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (nodeclaim/%s", m.Title(), m.Claim.Name)
	if m.Claim.Pool != "" {
		fmt.Fprintf(&b, ", nodepool/%s", m.Claim.Pool)
	}
	b.WriteString(")")
	if at, ok := m.Initialized(); ok {
		fmt.Fprintf(&b, " initialized %v after its creation", at.Sub(m.Claim.Created).Round(time.Second))
	}
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, g := range m.Gates() {
		cells := []string{"  " + mark[!g.Open] + " " + g.Name, Stamp(g.Since)}
		if g.Next != "" {
			g.Message += "; " + g.Next
		}
		if g.Message != "" {
			cells = append(cells, g.Message)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // a strings.Builder takes everything
	return b.String()
}

// mark is a box, empty while something is waited for.
var mark = map[bool]string{true: "[ ]", false: "[x]"}

// Gate is one of the things that a machine passes until it is ready for work.
type Gate struct {
	Name  string    `json:"name"`
	Open  bool      `json:"open"`
	Since time.Time `json:"since,omitzero"`
	// Reason, Message and Next are those of a closed gate.
	Reason  plan.Code `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Next    string    `json:"next,omitempty"`
}

// Gates are the checklist for programs.
func (m *Machine) Gates() []Gate {
	out := []Gate{}
	for _, g := range m.Step.Gates {
		gate := Gate{Name: string(g.Name), Open: g.Open, Since: g.Since.UTC()}
		if !g.Open {
			gate.Reason, gate.Message, gate.Next = g.Reason.Code, g.Reason.Message(), g.Next.String()
		}
		out = append(out, gate)
	}
	return out
}

// repairHelp says what to do about a repair that does not happen.
var repairHelp = map[plan.Code]string{
	plan.RepairBlocked:     "find out what is wrong with so many; or raise NodePolicy spec.repair.breaker.maxUnhealthy",
	plan.CorrelatedFailure: "mend what they share; or raise NodePolicy spec.repair.breaker.correlatedPercent",
	plan.RepairBudget:      "wait for the others; or raise NodePolicy spec.repair.budget, or the NodePool's budget for Unhealthy",
	plan.DoNotRepair:       "remove the annotation karpenter.sh/do-not-repair from the Node and the NodeClaim",
	plan.TooFewHealthy:     "use NodePolicy spec.repair.action: Replace; or lower spec.repair.minHealthy",
	plan.FindingNoted:      "mend the machine or delete its NodeClaim: kubectl delete nodeclaim ",
}

// health says what is wrong with a machine, as its claim says.
func (m *Machine) health(a *Answer) {
	c := m.Claim.Conditions[repair.Unhealthy]
	if !m.Claim.Is(repair.Unhealthy) {
		return
	}
	a.say(fmt.Sprintf("%s is unhealthy since %s: %s.", m.Title(), Stamp(c.Since), c.Message))
	if help := repairHelp[plan.Code(c.Reason)]; help != "" {
		if strings.HasSuffix(help, " ") {
			help += m.Claim.Name
		}
		a.Fixes = append(a.Fixes, Fix{What: help})
	}
}
