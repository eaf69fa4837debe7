package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Table writes the plan for people: the machines to launch with equal ones on one
// line, the machines that exist and get pods, what cannot be placed grouped by
// its reasons, and a summary.
func (p *Plan) Table(w io.Writer) error {
	b := &strings.Builder{}
	if len(p.NewNodes) > 0 {
		p.newNodes(b)
	}
	if len(p.Placements)+len(p.chunks()) > 0 {
		p.placements(b)
	}
	if len(p.Unplaced) > 0 {
		b.WriteString("\nCannot be placed:\n")
		grouped(b, p.Unplaced)
	}
	if len(p.UnplacedChunks) > 0 {
		b.WriteString("\nNo room for chunks of capacity buffers:\n")
		for _, s := range p.Buffers() {
			if s.Unplaced > 0 {
				fmt.Fprintf(b, "  %d of %s/%s\n%s", s.Unplaced, s.Buffer.Namespace, s.Buffer.Name, reasonsText(s.Reasons, map[*Reason]string{}))
			}
		}
	}
	if len(p.Relaxed) > 0 {
		b.WriteString("\nPlaced, but not as preferred:\n")
		for i := range p.Relaxed {
			fmt.Fprintf(b, "  %s\n    %s\n", Few(podNames(p.Relaxed[i].Pods)), p.Relaxed[i].Reason.Message())
		}
	}
	if len(p.Ignored) > 0 {
		b.WriteString("\nNot considered:\n")
		grouped(b, p.Ignored)
	}
	p.disruptions(b)
	fmt.Fprintf(b, "\n%s\n", p.Summary())
	_, err := io.WriteString(w, strings.TrimLeft(b.String(), "\n"))
	return err
}

// newNodes are some that look alike.
type newNodes struct {
	text     string
	nodes    int
	names    []string
	expected []*snapshot.Pod
}

func (n *newNodes) pods() string {
	var parts []string
	if len(n.names) > 0 {
		parts = append(parts, Few(n.names))
	}
	return strings.Join(append(parts, comers(n.expected)...), ", ")
}

func (p *Plan) newNodes(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NEW NODES\tNODEPOOL\tTYPE\tZONE\tCAPACITY\tPRICE/HOUR\tPODS")
	var rows []*newNodes
	byText := map[string]*newNodes{}
	for i := range p.NewNodes {
		n := &p.NewNodes[i]
		text := fmt.Sprintf("%s\t%s\t%s\t%s\t%s", n.Pool, n.Choice.Type.Name, n.Choice.Offering.Zone, n.Choice.Offering.CapacityType, Dollars(n.Choice.Offering.Price))
		r := byText[text]
		if r == nil {
			r = &newNodes{text: text}
			byText[text], rows = r, append(rows, r)
		}
		r.nodes++
		r.expected = append(r.expected, n.Expected...)
		for _, pod := range n.Pods {
			r.names = append(r.names, pod.Namespace+"/"+pod.Name)
		}
	}
	for _, r := range rows {
		fmt.Fprintf(t, "%d\t%s\t%s\n", r.nodes, r.text, r.pods())
	}
	_ = t.Flush() // a strings.Builder takes everything
}

func (p *Plan) placements(b *strings.Builder) {
	var names []string
	pods, chunks := map[string][]string{}, map[string][]*snapshot.Pod{}
	for _, x := range p.Placements {
		names, pods[x.Node.Name] = append(names, x.Node.Name), append(pods[x.Node.Name], x.Pod.Namespace+"/"+x.Pod.Name)
	}
	for _, x := range p.chunks() {
		names, chunks[x.Node.Name] = append(names, x.Node.Name), append(chunks[x.Node.Name], x.Pod)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	t := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NODE\tPODS")
	for _, name := range names {
		parts := comers(chunks[name])
		if len(pods[name]) > 0 {
			parts = append([]string{Few(pods[name])}, parts...)
		}
		fmt.Fprintf(t, "%s\t%s\n", name, strings.Join(parts, ", "))
	}
	_ = t.Flush()
}

// grouped lists pods that have the same reasons together.
func grouped(b *strings.Builder, list []Unplaced) {
	var order []string
	pods := map[string][]string{}
	texts := map[*Reason]string{}
	for _, u := range list {
		key := reasonsText(u.Reasons, texts)
		if pods[key] == nil {
			order = append(order, key)
		}
		pods[key] = append(pods[key], u.Pod.Namespace+"/"+u.Pod.Name)
	}
	for _, key := range order {
		fmt.Fprintf(b, "  %s\n%s", Few(pods[key]), key)
	}
}

// shownReasons is how many reasons the table tells of a pod.
const shownReasons = 6

// reasonsText is a line for each reason. Pods that share their reasons share it.
func reasonsText(list []Reason, known map[*Reason]string) string {
	if len(list) == 0 {
		return ""
	}
	text, ok := known[&list[0]]
	if !ok {
		for _, m := range Messages(list, shownReasons) {
			text += "    " + m + "\n"
		}
		known[&list[0]] = text
	}
	return text
}

// Few names the first ones and counts the rest.
func Few(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// Summary is the plan in one line.
func (p *Plan) Summary() string {
	placed, expected, chunks := 0, 0, 0
	for i := range p.NewNodes {
		n := &p.NewNodes[i]
		inBuffers := chunksIn(n.Expected)
		placed, expected, chunks = placed+len(n.Pods), expected+len(n.Expected)-inBuffers, chunks+inBuffers
	}
	var parts []string
	if len(p.NewNodes) > 0 {
		var pods []string
		if placed > 0 || expected+chunks == 0 {
			pods = append(pods, Count(placed, "pod"))
		}
		if expected > 0 {
			pods = append(pods, Count(expected, "pod")+" about to be created")
		}
		if chunks > 0 {
			pods = append(pods, Count(chunks, "chunk")+" of capacity buffers")
		}
		parts = append(parts, fmt.Sprintf("%s for %s at %s, %s", Count(len(p.NewNodes), "new node"), strings.Join(pods, " and "), PerHour(p.PricePerHour()), p.gap()))
	}
	if len(p.Placements) > 0 {
		parts = append(parts, Count(len(p.Placements), "pod")+" on nodes that exist")
	}
	if chunks := len(p.chunks()); chunks > 0 {
		parts = append(parts, Count(chunks, "chunk")+" of capacity buffers on nodes that exist")
	}
	if len(p.Unplaced) > 0 {
		parts = append(parts, Count(len(p.Unplaced), "pod")+" cannot be placed")
	}
	if len(p.UnplacedChunks) > 0 {
		parts = append(parts, Count(len(p.UnplacedChunks), "chunk")+" of capacity buffers cannot be placed")
	}
	if len(p.Ignored) > 0 {
		parts = append(parts, Count(len(p.Ignored), "pod")+" not considered")
	}
	if len(p.Disruptions) > 0 {
		nodes, saving := 0, 0.0
		for i := range p.Disruptions {
			nodes += len(p.Disruptions[i].Nodes)
			saving += p.Disruptions[i].Saving
		}
		parts = append(parts, Count(nodes, "node")+" would be removed"+Effect(saving))
	}
	if len(parts) == 0 {
		return "Nothing to do."
	}
	return strings.Join(parts, "; ") + "."
}

// Effect words a saving in $/h, after a comma; empty for none.
func Effect(saving float64) string {
	switch saving = dollars(saving); {
	case saving > 0:
		return fmt.Sprintf(", saving %s", PerHour(saving))
	case saving < 0:
		return fmt.Sprintf(", for %s more", PerHour(-saving))
	}
	return ""
}

// gap says how far the price is from the best.
func (p *Plan) gap() string {
	gap := 100 * (p.PricePerHour()/p.LowerBound - 1)
	switch {
	case p.LowerBound <= 0:
		return "with no bound to compare"
	case gap < 0.05:
		return "the lowest possible price"
	}
	return fmt.Sprintf("at most %.1f%% above the lowest possible price", gap)
}
