package consolidation

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Write writes results as markdown. About says how they came about, a line each.
func Write(w io.Writer, results []Result, about []string) error {
	var b strings.Builder
	b.WriteString("# Consolidation beside Karpenter's\n\n")
	b.WriteString("Both begin with the same cluster at 40 to 60 % use and decide until neither finds anything more.\n\n")
	ratios(&b, results)
	figures(&b, results)
	for _, r := range results {
		if r.Wrong != "" {
			fmt.Fprintf(&b, "\n%s, %s: a move could not be carried out: %s\n", r.Case, r.Engine, r.Wrong)
		}
	}
	b.WriteString("\n## How\n\n")
	for _, line := range about {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ratios compares the two engines of each case.
func ratios(b *strings.Builder, results []Result) {
	row(b, "case", "CPU", "ending $/h", "evictions", "evictions until Karpenter's ending $/h", "decisions")
	row(b, slicesOf("---", 6)...)
	for i := 0; i+1 < len(results); i++ {
		ours, theirs := results[i], results[i+1]
		if ours.Case != theirs.Case || ours.Wrong+theirs.Wrong != "" {
			continue
		}
		row(b, ours.Case,
			fmt.Sprintf("%.1f %%", 100*ours.CPU().Seconds()/theirs.CPU().Seconds()),
			fmt.Sprintf("%+.2f %%", 100*(ours.After/theirs.After-1)),
			fmt.Sprintf("%.2f×", float64(ours.Moved)/float64(theirs.Moved)),
			until(ours, theirs),
			fmt.Sprintf("%d against %d", len(ours.Decisions), len(theirs.Decisions))+unfinished(theirs))
	}
	b.WriteString("\nOurs beside Karpenter's. Where it is unfinished, Karpenter was stopped by the limit: it had found savings until then, and its CPU time and evictions are what it had used so far. A case that is not here was run with Millwright alone.\n\n")
}

func figures(b *strings.Builder, results []Result) {
	row(b, "case", "engine", "pods", "nodes", "$/h", "bound", "ending nodes", "ending $/h", "÷ bound", "decisions", "evictions", "evictions per $/h saved", "CPU s", "first, s", "median, s", "longest, s", "longest, CPU s")
	row(b, slicesOf("---", 17)...)
	for _, r := range results {
		if len(r.Decisions) == 0 {
			continue
		}
		decisions := fmt.Sprint(len(r.Decisions))
		decisions += unfinished(r)
		row(b, r.Case, r.Engine, fmt.Sprint(r.Pods), fmt.Sprint(r.Nodes), dollars(r.Before), dollars(r.Bound),
			fmt.Sprint(r.Left), dollars(r.After), fmt.Sprintf("%.3f", r.After/r.Bound), decisions, fmt.Sprint(r.Moved),
			fmt.Sprintf("%.1f", float64(r.Moved)/(r.Before-r.After)),
			seconds(r.CPU()), seconds(r.Decisions[0].Wall), seconds(r.Median(wall)), seconds(r.Longest(wall)), seconds(r.Longest(cpu)))
	}
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func unfinished(r Result) string {
	if r.Unfinished {
		return ", unfinished"
	}
	return ""
}

// until compares what it took to make the cluster as cheap as the other engine left it.
func until(ours, theirs Result) string {
	moved, ok := ours.MovedUntil(theirs.After)
	if !ok {
		return "not reached"
	}
	return fmt.Sprintf("%.2f×", float64(moved)/float64(theirs.Moved))
}

func slicesOf(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func dollars(v float64) string       { return fmt.Sprintf("%.2f", v) }
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }

// Line is a result in a line.
func (r Result) Line() string {
	return fmt.Sprintf("%-18s %-11s %4d decisions, %6d evictions, CPU %s s, longest %s s, $%s/h to $%s/h, bound $%s/h, unfinished %t, wrong %q",
		r.Case, r.Engine, len(r.Decisions), r.Moved, seconds(r.CPU()), seconds(r.Longest(wall)), dollars(r.Before), dollars(r.After), dollars(r.Bound), r.Unfinished, r.Wrong)
}

// WriteDays writes the days of several seeds as markdown, each beside its first.
func WriteDays(w io.Writer, bySeed [][]Day) error {
	var b strings.Builder
	b.WriteString("\n## A day of web, cron and batch load\n\n")
	row(&b, "seed", "policy", "$ for the day", "saved", "evictions", "evictions per $ saved", "launched for pods", "came back: empty ones", "with pods")
	row(&b, slicesOf("---", 9)...)
	for i, days := range bySeed {
		for j, d := range days {
			saved, per := "–", "–"
			if less := days[0].Dollars - d.Dollars; j > 0 {
				saved, per = dollars(less), fmt.Sprintf("%.1f", float64(d.Evictions)/max(less, 0.01))
			}
			row(&b, fmt.Sprint(i+1), d.Regime, dollars(d.Dollars), saved, fmt.Sprint(d.Evictions), per, fmt.Sprint(d.Launched), fmt.Sprint(d.Empty), fmt.Sprint(d.Moved))
		}
	}
	b.WriteString(`
Millwright under four policies, and Karpenter where it is named, in virtual time, a decision a minute: twelve Deployments that follow the sun, a CronJob of a dozen pods every ten minutes, a batch of sixty twice a day; consolidateAfter is 2m. Saved is beside Millwright's WhenEmpty. Calm is minNodeAge 30m, workloadCooldown 10m, paybackTime 2h with podMoveCost 0.002, minSavingPercent 5, loopFreeze 1h. Pods run where the engine has planned them, machines start at once, and no command of Karpenter's fails in its 15 s of validation. Karpenter finds machines for pods with its provisioner, and its condition Consolidatable is kept by the rule of its controller.

A machine has come back if it was launched for pods within ten minutes after consolidation had removed one of its kind (type, zone, capacity type); each removed machine comes back once at most. Empty ones go in their ordinary time whatever comes back, and no pod moves for them. Those with pods count towards what the next move must save.
`)
	_, err := io.WriteString(w, b.String())
	return err
}
