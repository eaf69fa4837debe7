package cluster

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Round is all turns with one number of pods.
type Round struct {
	Pods    int
	Results []Result
}

// Report is the comparison as markdown. What was not finished says so.
func Report(cfg Config, rounds []Round) string {
	var b strings.Builder
	b.WriteString("# Whole controllers beside Karpenter's\n\n")
	b.WriteString("Karpenter's KWOK controller and Millwright took turns in one sandbox. Written by `make bench-cluster`.\n")
	for _, r := range rounds {
		fmt.Fprintf(&b, "\n## %d pods\n\n", total(r.Pods))
		r.write(&b, cfg)
	}
	b.WriteString("\n## How\n\n")
	fmt.Fprintf(&b, "- %s, %d CPUs, shared by the control plane, the simulated kubelets and the controller. Karpenter %s.\n", runtime.Version(), runtime.NumCPU(), karpenterVersion())
	fmt.Fprintf(&b, "- Catalogue: KWOK's 144 types, on demand, linux/amd64. One NodePool, disruption by default (`consolidateAfter: 0s`, budget 10 %%). A Node appears %s after its launch; both have all flags by default.\n", cfg.LaunchDelay)
	b.WriteString("- Workload: of 30 pods 20 of 250m/500Mi, 7 of 900m/3100Mi, 3 of 3500m/14Gi, in three Deployments created at once; ")
	fmt.Fprintf(&b, "trickles are %d more pods, one each %s.\n", trickled, tricklePause)
	b.WriteString("- *half* and *last*: seconds from the beginning of the phase until half and all of its pods were Running; in trickles the median and the longest wait of a pod. *settled*: when the last Node came or went. ")
	fmt.Fprintf(&b, "Machines, CPUs and $/h are those at the end of a phase, when no Node had come or gone for %s.\n", cfg.Quiet)
	b.WriteString("- *requests*: what the controller's client sent to the API server, by its own metrics, events, watches and leases included, from the beginning to the end of the phase. CPU time and peak resident set are the process's.\n")
	return b.String()
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
