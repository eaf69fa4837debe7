package ec2

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// String is one line for the progress.
func (m Measure) String() string {
	line := fmt.Sprintf("%s, %s: %d of %d pods, half %.1f s, last %.1f s; %d machines, $%.3f/h; %d evictions; %d calls, %d refused",
		m.Scenario, m.Contestant, m.Pods, m.Wanted, m.Half, m.Last, m.Machines, m.Price, m.Evictions, total(m.Calls.Calls), total(m.Calls.Throttled))
	if c := m.CutOff; c != nil {
		line += fmt.Sprintf("; of %d instances before the kill %d were adopted, %d were launched in all; %d for %d claims, %d without one", c.Before, c.Adopted, c.Launched, c.Alive, c.Claims, c.Doubles)
	}
	if m.Err != nil {
		line += "; " + m.Err.Error()
	}
	return line
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

// Report is the comparison as markdown. What was not finished says so.
func Report(cfg Config, measures []Measure) string {
	var b strings.Builder
	b.WriteString("# On an emulated AWS, beside Karpenter\n\n")
	b.WriteString("Karpenter's controller for AWS, v1.14.1 and unmodified, and Millwright, each in a sandbox of its own on the emulated AWS of [emulator.md](../docs/emulator.md). Written by `make bench-aws`.\n\n")
	b.WriteString("| scenario | controller | pods Running | half, s | last, s | machines | types | $/h | evictions | calls of AWS | refused as too frequent |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, m := range measures {
		m.row(&b)
	}
	fleets(&b, measures)
	cutOffs(&b, measures)
	cleared(&b, measures)
	usages(&b, measures)
	actions(&b, measures)
	unfinished(&b, measures)
	how(&b, cfg)
	return b.String()
}

func (m *Measure) row(b *strings.Builder) {
	fmt.Fprintf(b, "| %s | %s | %d of %d | %s | %s | %d | %d | %.3f | %d | %d | %d |\n", m.Scenario, m.Contestant, m.Pods, m.Wanted,
		seconds(m.Half), seconds(m.Last), m.Machines, len(m.Types), m.Price, m.Evictions, total(m.Calls.Calls), total(m.Calls.Throttled))
}

func seconds(s float64) string {
	if s == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", s)
}

func fleets(b *strings.Builder, measures []Measure) {
	b.WriteString("\n## What CreateFleet answered\n\n| scenario | controller | calls | refused as too frequent | told of sold-out offerings | last, s |\n| --- | --- | --- | --- | --- | --- |\n")
	for i := range measures {
		m := &measures[i]
		fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %s |\n", m.Scenario, m.Contestant, m.Fleets, m.Refused, m.Short, seconds(m.Launched))
	}
}

func usages(b *strings.Builder, measures []Measure) {
	b.WriteString("\n## What it took of the machine, until the last pod ran\n\n| scenario | controller | load before | CPU time of the controller, s | its requests to the API server |\n| --- | --- | --- | --- | --- |\n")
	for i := range measures {
		m := &measures[i]
		fmt.Fprintf(b, "| %s | %s | %.1f | %s | %d |\n", m.Scenario, m.Contestant, m.Busy, seconds(m.Usage.CPU.Seconds()), m.Usage.Requests)
	}
}

func cutOffs(b *strings.Builder, measures []Measure) {
	var rows []string
	for i := range measures {
		m := &measures[i]
		c := m.CutOff
		if c == nil {
			continue
		}
		rows = append(rows, fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |\n", m.Contestant, c.Before, c.Adopted, c.Launched, c.Alive, c.Claims, c.Doubles))
	}
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## Killed between CreateFleet and its record\n\nThe replies of CreateFleet are held back, the controller is killed with SIGKILL once EC2 has started its instances, and started again.\n\n")
	b.WriteString("| controller | instances at the kill | of these a claim's afterwards | launched in all | alive at rest | claims | instances without a claim |\n| --- | --- | --- | --- | --- | --- | --- |\n" + strings.Join(rows, ""))
}

func cleared(b *strings.Builder, measures []Measure) {
	var rows []string
	for i := range measures {
		if m := &measures[i]; m.Cleared {
			left := cmp.Or(strings.Join(slices.Concat(m.Left.Templates, m.Left.Profiles), ", "), "nothing")
			rows = append(rows, fmt.Sprintf("| %s | %s | %.1f | %s |\n", m.Scenario, m.Contestant, m.Gone, left))
		}
	}
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## The way down\n\nThe workloads are deleted, then pools and class.\n\n| scenario | controller | last instance gone, s | left of launch templates and instance profiles |\n| --- | --- | --- | --- |\n" + strings.Join(rows, ""))
}

// actions is the table of the calls of each scenario, a column for each contestant.
func actions(b *strings.Builder, measures []Measure) {
	b.WriteString("\n## Calls by action, until the last pod ran\n\n| action |")
	names := map[string]bool{}
	for i := range measures {
		m := &measures[i]
		fmt.Fprintf(b, " %s: %s |", m.Contestant, m.Scenario)
		for name := range m.Calls.Calls {
			names[name] = true
		}
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(measures)) + "\n")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(b, "| %s |", name)
		for i := range measures {
			cell := fmt.Sprint(measures[i].Calls.Calls[name])
			if n := measures[i].Calls.Throttled[name]; n > 0 {
				cell += fmt.Sprintf(" (%d refused)", n)
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteByte('\n')
	}
}

func unfinished(b *strings.Builder, measures []Measure) {
	for i := range measures {
		if m := &measures[i]; m.Err != nil {
			fmt.Fprintf(b, "\n**Not finished**: %s with %s: %v.\n", m.Scenario, m.Contestant, m.Err)
		}
	}
}

func how(b *strings.Builder, cfg Config) {
	b.WriteString("\n## How\n\n")
	fmt.Fprintf(b, "- %s, %d CPUs, shared by the control plane, the simulated kubelets, the emulated AWS and the controller. Both have all flags by default, but for a queue of interruptions and no leader election: each is alone.\n", runtime.Version(), runtime.NumCPU())
	fmt.Fprintf(b, "- Classes and pools are those of `examples/aws`, workloads those of `examples/workloads`, created once the controller is ready. Scenarios of many machines, here %d, have one class, one pool of on-demand machines of four vCPUs, a pod for each machine, and EC2's documented token buckets. An instance runs a second after its launch, and its kubelet registers half a second later. On-demand prices are AWS's, spot prices are made up.\n", cfg.Machines)
	fmt.Fprintf(b, "- *half* and *last*: seconds from the creation of the workloads until half and all of their pods ran, those of DaemonSets left out; of CreateFleet until its last answer. Machines and $/h are those at rest, when no Node had come or gone for %v. Calls are those from the controller's start until the last pod ran, without those of the volume driver; a dry run is a call. *Load* is the average over a minute that the operating system had before the sandbox was started: what else ran.\n", cfg.Quiet)
}
