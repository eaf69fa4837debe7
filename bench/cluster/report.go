package cluster

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Round is all turns with one number of pods, beside so many busy loops.
type Round struct {
	Pods    int
	Hogs    int
	Results []Result
}

// Report is the comparison as markdown. What was not finished says so.
func Report(cfg Config, rounds []Round) string {
	var b strings.Builder
	b.WriteString("# Whole controllers beside Karpenter's\n\n")
	b.WriteString("Karpenter's KWOK controller and Millwright took turns in one sandbox. Written by `make bench-cluster`.\n")
	for _, r := range rounds {
		beside := ""
		if r.Hogs > 0 {
			beside = fmt.Sprintf(", %d of %d CPUs kept busy by something else", min(r.Hogs, runtime.NumCPU()), runtime.NumCPU())
		}
		fmt.Fprintf(&b, "\n## %d pods%s\n\n", total(r.Pods), beside)
		r.write(&b, cfg)
		r.targets(&b)
	}
	b.WriteString("\n## How\n\n")
	fmt.Fprintf(&b, "- %s, %d CPUs, shared by the control plane, the simulated kubelets and the controller. Karpenter %s.\n", runtime.Version(), runtime.NumCPU(), karpenterVersion())
	fmt.Fprintf(&b, "- Catalogue: KWOK's 144 types, on demand, linux/amd64. One NodePool, disruption by default (`consolidateAfter: 0s`, budget 10 %%). A Node appears %s after its launch and is ready %s to %s later; both have all flags by default.\n", cfg.LaunchDelay, cfg.ReadyDelay, cfg.ReadyDelay+cfg.ReadySpread)
	b.WriteString("- A Node for critical add-ons only is there all the time, as that on which a controller runs; it is not counted.\n")
	fmt.Fprintf(&b, "- Workload: of 30 pods 20 of 250m/500Mi, 7 of 900m/3100Mi, 3 of 3500m/14Gi, in %d Deployments created %s; ", cfg.Deployments*len(shapes), apart(cfg.Apart))
	fmt.Fprintf(&b, "trickles are %d more pods, one each %s.\n", trickled, tricklePause)
	b.WriteString("- *half* and *last*: seconds from the beginning of the phase until half and all of its pods were Running; in trickles the median and the longest wait of a pod. *settled*: when the last Node came or went. ")
	fmt.Fprintf(&b, "Machines, CPUs and $/h are those at the end of a phase, when no Node had come or gone for %s.\n", cfg.Quiet)
	b.WriteString("- *requests*: what the controller's client sent to the API server, by its own metrics, events, watches and leases included, from the beginning to the end of the phase. CPU time and peak resident set are the process's.\n")
	return b.String()
}

func apart(d time.Duration) string {
	if d == 0 {
		return "at once"
	}
	return d.String() + " apart"
}

func (r Round) write(b *strings.Builder, cfg Config) {
	b.WriteString("| phase | controller | half, s | last, s | settled, s | machines | CPUs | $/h | evictions | requests | per pod | CPU-s |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i, name := range cfg.Phases {
		for _, result := range r.Results {
			if i < len(result.Phases) {
				result.Phases[i].row(b, result.Contestant)
			} else {
				fmt.Fprintf(b, "| %s | %s | not played: an earlier phase was not finished |\n", phases[name].name, result.Contestant)
			}
		}
	}
	b.WriteByte('\n')
	for _, result := range r.Results {
		fmt.Fprintf(b, "%s: peak RSS %.0f MB.", result.Contestant, float64(result.PeakRSS)/1e6)
		if result.Err != nil {
			fmt.Fprintf(b, " The turn ended early: %v.", result.Err)
		}
		b.WriteString("\n\n")
	}
}

// targets says of each target whether it was met, where both played.
func (r Round) targets(b *strings.Builder) {
	const burst, nothing = "burst", "nothing"
	theirs, ours := r.of(karpenterTitle), r.of(millwrightTitle)
	if theirs == nil || ours == nil {
		return
	}
	var lines []string
	line := func(what string, ours, most float64) {
		verdict := "met"
		if ours > most {
			verdict = "**missed**"
		}
		lines = append(lines, fmt.Sprintf("| %s | %.2f | at most %.2f | %s |", what, ours, most, verdict))
	}
	if a, b := theirs.finished(burst), ours.finished(burst); a != nil && b != nil {
		line("last pod Running after the burst, of Karpenter's time", b.Last/a.Last, 0.6)
		line("machines more than Karpenter's after the burst, for each 1 % of the price that they save", more(a, b), 1)
		line("$/h after the burst, of Karpenter's", b.Price/a.Price, 1)
		line("requests a pod in the burst", float64(b.Requests)/float64(b.Pods), 1.2)
	}
	if a, b := theirs.finished(nothing), ours.finished(nothing); a != nil && b != nil {
		line("everything gone after the scale-in to nothing, of Karpenter's time", b.Settled/a.Settled, 0.4)
	}
	if len(lines) > 0 {
		b.WriteString("| target | measured | wanted | |\n| --- | --- | --- | --- |\n" + strings.Join(lines, "\n") + "\n")
	}
}

// more is how many more machines than theirs there are of ours for each percent by which ours
// cost less: where prices are linear in size, the fewest machines and the lowest price are
// different plans.
func more(theirs, ours *Measure) float64 {
	saved := 100 * (1 - ours.Price/theirs.Price)
	switch machines := float64(ours.Machines - theirs.Machines); {
	case machines <= 0:
		return 0
	case saved <= 0:
		return math.Inf(1)
	default:
		return machines / saved
	}
}

// of is the first turn of a contestant, nil if it had none.
func (r Round) of(contestant string) *Result {
	for i := range r.Results {
		if r.Results[i].Contestant == contestant {
			return &r.Results[i]
		}
	}
	return nil
}

// finished is what was measured of a phase that came to its end, nil otherwise.
func (r *Result) finished(phase string) *Measure {
	for i := range r.Phases {
		if m := &r.Phases[i]; m.Phase == phases[phase].name && m.Err == nil {
			return m
		}
	}
	return nil
}

func (m Measure) row(b *strings.Builder, contestant string) {
	perPod := "–"
	if m.Pods > 0 {
		perPod = fmt.Sprintf("%.2f", float64(m.Requests)/float64(m.Pods))
	}
	name := m.Phase
	if m.Err != nil {
		name += " (not finished)"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d | %d | %.2f | %d | %d | %s | %.1f |\n", name, contestant,
		seconds(m.Half), seconds(m.Last), seconds(m.Settled), m.Machines, m.CPUs, m.Price, m.Evictions, m.Requests, perPod, m.CPU.Seconds())
}

func seconds(s float64) string {
	if s == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", s)
}

// karpenterVersion is that of the module beside which this was built.
func karpenterVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "sigs.k8s.io/karpenter" {
				return d.Version
			}
		}
	}
	return "of an unknown version"
}
