package plan

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Disruption is machines that would be taken away now, and what would be launched
// in their place.
type Disruption struct {
	// Cause is Drifted, Empty, Expired or Underutilized.
	Cause string
	// Nodes are the machines, by name.
	Nodes  []string
	Launch []NewNode
	// Saving is in $/h, negative if what is launched costs more.
	Saving float64
}

// Stay is a machine that stays, and why.
type Stay struct {
	Node   string
	Reason Reason
	// Saving is what would be saved in $/h if the reason did not hold, as far as that
	// is known.
	Saving float64
}

type disruptionDoc struct {
	Cause         string      `json:"cause"`
	Nodes         []string    `json:"nodes"`
	Launch        []choiceDoc `json:"launch"`
	SavingPerHour float64     `json:"savingPerHour"`
}

type stayDoc struct {
	Node string `json:"node"`
	reasonDoc
	SavingPerHour float64 `json:"savingPerHour,omitempty"`
}

func (d *Disruption) document() disruptionDoc {
	out := disruptionDoc{Cause: d.Cause, Nodes: d.Nodes, Launch: []choiceDoc{}, SavingPerHour: dollars(d.Saving)}
	for i := range d.Launch {
		out.Launch = append(out.Launch, choice(d.Launch[i].Choice))
	}
	return out
}

func (s *Stay) document() stayDoc { return stayDoc{s.Node, s.Reason.document(), dollars(s.Saving)} }

// shownStays is how many machines that stay a table lists one by one.
const shownStays = 20

// disruptions writes the part of the table about machines that exist.
func (p *Plan) disruptions(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	if len(p.Disruptions) > 0 {
		fmt.Fprintln(t, "\nDISRUPTED NODES\tCAUSE\tLAUNCHED FIRST\tSAVES/HOUR")
	}
	for i := range p.Disruptions {
		d := &p.Disruptions[i]
		var launched []string
		for j := range d.Launch {
			launched = append(launched, d.Launch[j].Choice.Type.Name)
		}
		saves := "-"
		if dollars(d.Saving) != 0 {
			saves = Dollars(d.Saving)
		}
		if len(launched) == 0 {
			launched = []string{"-"}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", Few(d.Nodes), d.Cause, Few(launched), saves)
	}
	if len(p.Stays) > 0 {
		fmt.Fprintln(t, "\nNODES THAT STAY\tWHY")
	}
	for i := range p.Stays {
		if i == shownStays {
			fmt.Fprintf(t, "and %d more\t\n", len(p.Stays)-i)
			break
		}
		fmt.Fprintf(t, "%s\t%s: %s\n", p.Stays[i].Node, p.Stays[i].Reason.Code, p.Stays[i].Reason.Message())
	}
	t.Flush()
}
