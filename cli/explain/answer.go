package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
)

// Verdict is an answer in one word.
type Verdict string

// Verdicts about machines, pods, the chunks of buffers, and pools.
const (
	// Starting: the machine is not ready for work yet.
	Starting Verdict = "Starting"
	// Stays: the machine works, and nothing is to be done with it.
	Stays Verdict = "Stays"
	// Disrupting: the machine works, and a command to take it away is under way.
	Disrupting Verdict = "Disrupting"
	// Leaving: the machine is being taken away.
	Leaving Verdict = "Leaving"

	// Unplaced: no machine, existing or new, would take the pod.
	Unplaced Verdict = "Unplaced"
	// ExistingNode: the pod has room on a machine that is there.
	ExistingNode Verdict = "ExistingNode"
	// NewNode: a machine is being launched for the pod; NeedsNode: the next plan would launch
	// one.
	NewNode   Verdict = "NewNode"
	NeedsNode Verdict = "NeedsNode"
	// Bound: the pod has its machine.
	Bound Verdict = "Bound"

	// Ready: the pool can launch machines.
	Ready Verdict = "Ready"
	// NotReady: the pool launches nothing, or there is no saying what the buffer is made of.
	NotReady Verdict = "NotReady"
)

// Answer says why. The format of its JSON is a contract: fields are added, never
// changed.
type Answer struct {
	// Object is the one that the answer is about.
	Object plan.ObjectRef `json:"object"`
	// NodeClaim and NodePool are those of a machine.
	NodeClaim string  `json:"nodeClaim,omitempty"`
	NodePool  string  `json:"nodePool,omitempty"`
	Verdict   Verdict `json:"verdict"`
	// Summary is the verdict in sentences.
	Summary []string `json:"summary"`
	// Since is when that began, and NextCheck when it is looked at again without
	// anything happening.
	Since     time.Time `json:"since,omitzero"`
	NextCheck time.Time `json:"nextCheck,omitzero"`
	// Deadline is when a machine that is leaving waits for nothing any more.
	Deadline time.Time `json:"deadline,omitzero"`
	// SavingPerHour is what could be saved if it were not so, in dollars.
	SavingPerHour float64       `json:"savingPerHour,omitempty"`
	Reasons       []plan.Reason `json:"reasons"`
	// Gates are what a machine passes until it is ready for work.
	Gates []Gate `json:"gates,omitempty"`
	// Waits are what a machine that is leaving has to wait for, and what it need not.
	Waits []Wait `json:"waits,omitempty"`
	// Machines counts the machines of a pool by their verdict's code.
	Machines map[plan.Code]int `json:"machines,omitempty"`
	// Fixes are what would have to change.
	Fixes []Fix `json:"fixes"`
	// ToMend is what does not hold this machine up and would hurt all the same.
	ToMend []Fix `json:"toMend,omitempty"`

	// launches says that machines of a pool are to be launched.
	launches bool
	// detail is what the text has between the summary and the fixes.
	detail string
}

// Wait is one thing that the removal of a machine looks at.
type Wait struct {
	// Of is what kind of thing that is, such as Pods or Volumes.
	Of      string `json:"of"`
	Waits   bool   `json:"waits"`
	Message string `json:"message"`
}

// Fix is something to do, and commands that help.
type Fix struct {
	What     string   `json:"what"`
	Commands []string `json:"commands,omitempty"`
}

// Text is the answer for people, one line after the other, the verdict first.
func (a *Answer) Text() string {
	var b strings.Builder
	b.WriteString(strings.Join(a.Summary, "\n") + "\n")
	if a.detail != "" {
		b.WriteString("\n" + a.detail)
	}
	section(&b, "What would have to change", a.Fixes)
	section(&b, "To fix before the next drain", a.ToMend)
	return b.String()
}

// Texts are answers one after the other. Of objects of a namespace that are told the same,
// as the pods of a workload mostly are, the first is told and the others are named.
func Texts(answers []*Answer) string {
	type group struct {
		text   string
		others []string
	}
	var groups []*group
	byText := map[string]*group{}
	for _, a := range answers {
		text := a.Text()
		key := strings.ReplaceAll(text, a.Object.String(), "")
		g := byText[key]
		if g == nil {
			g = &group{text: text}
			byText[key], groups = g, append(groups, g)
			continue
		}
		g.others = append(g.others, a.Object.String())
	}
	var b strings.Builder
	for i, g := range groups {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(g.text)
		if len(g.others) > 0 {
			fmt.Fprintf(&b, "\nThe same holds for %s.\n", plan.Few(g.others))
		}
	}
	return b.String()
}

func section(b *strings.Builder, title string, list []Fix) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n" + title + ":\n")
	for _, f := range list {
		b.WriteString("  " + f.What + "\n")
		for _, c := range f.Commands {
			b.WriteString("    " + c + "\n")
		}
	}
}

// say adds a sentence to the summary.
func (a *Answer) say(sentence string) { a.Summary = append(a.Summary, sentence) }

// Stamp is a time as objects show it; a dash if it is not known.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
