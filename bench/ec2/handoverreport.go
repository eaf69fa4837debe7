package ec2

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/bench/ec2/stage"
)

// String is one line for the progress, and one for each fault.
func (a Act) String() string {
	line := fmt.Sprintf("%s: %s: %.1f s; %d machines (%d launched, %d ended), %d pods, %d evictions; %s", a.By, a.Title, a.Took,
		a.Machines, a.Launched, a.Ended, a.Pods, a.Evictions, a.changes())
	for _, d := range a.Differences {
		line += fmt.Sprintf("\n  %s of %d %s(s) %s, as of %s", d.Path, d.Objects, d.Kind, d.How, d.Example)
	}
	for _, f := range a.Faults {
		line += "\n  fault: " + f
	}
	return line
}

// changes are the calls that changed something.
func (a *Act) changes() string {
	var words []string
	for _, action := range slices.Sorted(maps.Keys(a.Changes)) {
		words = append(words, fmt.Sprintf("%d %s", a.Changes[action], action))
	}
	if len(words) == 0 {
		return "no call that changes anything"
	}
	return strings.Join(words, ", ")
}

// Faults are those of all acts.
func Faults(acts []Act) []string {
	var out []string
	for i := range acts {
		for _, f := range acts[i].Faults {
			out = append(out, fmt.Sprintf("%s, %s: %s", acts[i].By, acts[i].Title, f))
		}
	}
	return out
}

// ReportHandover is the story of a handover as markdown.
func ReportHandover(cfg Config, acts []Act) string {
	var b strings.Builder
	b.WriteString("# A cluster changes hands, and back\n\nKarpenter's controller for AWS, v1.14.1 and unmodified, builds a fleet on the emulated AWS; Millwright takes over, then Karpenter again. Written by `make bench-aws ARGS=-handover`.\n\n")
	b.WriteString("| under | what is done | s | machines | launched | ended | pods | evicted | calls that change AWS |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range acts {
		a := &acts[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d | %d | %d | %s |\n", a.By, a.Title, seconds(a.Took), a.Machines, a.Launched, a.Ended, a.Pods, a.Evictions, a.changes())
	}
	if faults := Faults(acts); len(faults) > 0 {
		b.WriteString("\n## What must not be\n\n- " + strings.Join(faults, "\n- ") + "\n")
	} else {
		fmt.Fprintf(&b, "\nBy a change of controllers no machine was replaced, drained or tagged anew, no pod was evicted or moved and nothing drifted, within %v. Volumes were detached before their instances were terminated.\n", cfg.Hold)
	}
	for i := range acts {
		a := &acts[i]
		if len(a.Differences) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## What %s changes on the objects within %v\n\n| kind | what | | objects |\n| --- | --- | --- | --- |\n", a.By, cfg.Hold)
		for _, d := range a.Differences {
			fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", d.Kind, d.Path, d.How, d.Objects)
		}
	}
	b.WriteString("\n## How\n\n")
	fmt.Fprintf(&b, "- Two EC2NodeClasses (AL2023 with a role, Bottlerocket with an instance profile and user data), three NodePools (spot; on demand, with consolidation; on demand for a StatefulSet with an EBS volume for each replica). A pod takes more than half of a machine of four vCPUs.\n- A spot machine that is interrupted, and one with a volume whose NodeClaim is deleted, are such as the other controller launched. Each Deployment is scaled by %d. While one is scaled in, consolidation may take a machine with its pod before an empty one: an eviction in that row.\n- Not finished is whatever has no row.\n", stage.More)
	return b.String()
}
