package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/bench/suite"
)

// Write writes the whole report. About says how it was measured, a line each.
func Write(w io.Writer, rows []suite.Row, about []string) error {
	var b strings.Builder
	b.WriteString("# Placement beside Karpenter's scheduler\n\n")
	ratios(&b, rows)
	figures(&b, rows)
	problems(&b, rows)
	b.WriteString("\n## How\n\n")
	for _, line := range about {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pairs are the rows of the first two engines of each workload: ours and theirs.
func pairs(rows []suite.Row) [][2]suite.Row {
	var out [][2]suite.Row
	for i := 0; i+1 < len(rows); i++ {
		if rows[i].Workload == rows[i+1].Workload && (i == 0 || rows[i-1].Workload != rows[i].Workload) {
			out = append(out, [2]suite.Row{rows[i], rows[i+1]})
		}
	}
	return out
}

// ratios compares the engines, and says which targets are met.
func ratios(b *strings.Builder, rows []suite.Row) {
	list := pairs(rows)
	if len(list) == 0 {
		return
	}
	header := []string{
		"workload", "targets", "pods / CPU s", "wall time", "allocations", "peak heap",
		"$/h", "against", "share", "bound", "gap", "price ÷ bound", "nodes", "unplaced",
	}
	var lines [][]string
	var failures []string
	failed := 0
	for _, p := range list {
		verdict := "met"
		if reasons := missed(p[0], p[1]); len(reasons) > 0 {
			verdict = "**MISSED**"
			failed++
			failures = append(failures, fmt.Sprintf("- **%s:** %s", p[0].Workload, strings.Join(reasons, "; ")))
		}
		lines = append(lines, ratio(p[0], p[1], verdict))
	}
	if failed == 0 {
		fmt.Fprintf(b, "**All targets are met on all %d workloads.**", len(list))
	} else {
		fmt.Fprintf(b, "**Targets are missed on %d of %d workloads:**\n\n%s", failed, len(list), strings.Join(failures, "\n"))
	}
	fmt.Fprintf(b, "\n\n%s\n\n%s against %s: how many times as many pods per CPU second, how many times less time, allocations and heap; then both prices and ours as a share of theirs; the lower bound, and our gap to it; the nodes of both.\n\n",
		targets, list[0][0].Engine, list[0][1].Engine)
	table(b, header, lines)
	b.WriteString("\n")
}

func ratio(ours, theirs suite.Row, verdict string) []string {
	price := fmt.Sprintf("%.3f", ours.PricePerHour/theirs.PricePerHour)
	if ours.Wrong != nil || ours.Unplaced != theirs.Unplaced {
		price = "–" // prices of different pods do not compare
	}
	return []string{
		ours.Workload, verdict,
		times(perCPU(ours) / perCPU(theirs)),
		times(seconds(theirs.Wall) / seconds(ours.Wall)),
		times(float64(theirs.Allocs) / float64(ours.Allocs)),
		times(float64(theirs.PeakHeap) / float64(ours.PeakHeap)),
		fmt.Sprintf("%.2f", ours.PricePerHour), fmt.Sprintf("%.2f", theirs.PricePerHour), price,
		fmt.Sprintf("%.2f", ours.Bound.PerHour), gap(ours),
		fmt.Sprintf("%s against %s", overBound(ours), overBound(theirs)),
		fmt.Sprintf("%d against %d", ours.Nodes, theirs.Nodes),
		unplaced(ours),
	}
}

func figures(b *strings.Builder, rows []suite.Row) {
	header := []string{
		"workload", "engine", "runs", "wall s", "CPU s", "pods/s", "pods/CPU s", "allocations", "allocated MiB", "peak heap MiB",
		"$/h", "bound $/h", "price ÷ bound", "gap", "nodes", "unplaced",
	}
	var lines [][]string
	for _, r := range rows {
		lines = append(lines, []string{
			r.Workload, r.Engine, fmt.Sprint(r.Iterations),
			fmt.Sprintf("%.3f", seconds(r.Wall)), fmt.Sprintf("%.3f", seconds(r.CPU)),
			count(perSecond(r, r.Wall)), count(perCPU(r)),
			count(float64(r.Allocs)), mebibytes(r.Bytes), mebibytes(r.PeakHeap),
			fmt.Sprintf("%.2f", r.PricePerHour), fmt.Sprintf("%.2f", r.Bound.PerHour), overBound(r), gap(r),
			fmt.Sprint(r.Nodes), unplaced(r),
		})
	}
	table(b, header, lines)
}

// problems lists the plans that check refused.
func problems(b *strings.Builder, rows []suite.Row) {
	for _, r := range rows {
		if r.Wrong != nil {
			fmt.Fprintf(b, "\n**%s on %s is wrong:** %s\n", r.Engine, r.Workload, strings.ReplaceAll(r.Wrong.Error(), "\n", "; "))
		}
	}
}

// Line is one row for a terminal.
func Line(r suite.Row) string {
	verdict := ""
	if r.Wrong != nil {
		verdict = "  WRONG: " + strings.Split(r.Wrong.Error(), "\n")[0]
	}
	return fmt.Sprintf("%-22s %-11s %2d runs  %9.3f s  %9.3f CPU s  %10s pods/CPU s  %9.2f $/h  %s × bound  %5d nodes  %s unplaced%s",
		r.Workload, r.Engine, r.Iterations, seconds(r.Wall), seconds(r.CPU), count(perCPU(r)), r.PricePerHour, overBound(r), r.Nodes, unplaced(r), verdict)
}

// perSecond counts the pods that were placed, and those that have no place
// anywhere; saying no to the others is not work.
func perSecond(r suite.Row, d time.Duration) float64 {
	refused := max(r.Unplaced-r.Bound.Impossible, 0)
	return float64(r.Pods-refused) / seconds(d)
}

func perCPU(r suite.Row) float64 { return perSecond(r, r.CPU) }

func unplaced(r suite.Row) string {
	s := fmt.Sprint(r.Unplaced)
	if r.Bound.Impossible > 0 {
		s += fmt.Sprintf(" (%d impossible)", r.Bound.Impossible)
	}
	if r.CutOff {
		s += " (cut off)"
	}
	return s
}

func overBound(r suite.Row) string {
	switch {
	case r.Wrong != nil:
		return "wrong"
	case r.PlacedBound.PerHour == 0:
		return "–"
	}
	return fmt.Sprintf("%.3f", r.PricePerHour/r.PlacedBound.PerHour)
}

// gap is how much of the price there is at most to save.
func gap(r suite.Row) string {
	if r.Wrong != nil || r.PlacedBound.PerHour == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*(1-r.PlacedBound.PerHour/r.PricePerHour))
}

func seconds(d time.Duration) float64 { return d.Seconds() }

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }

func times(x float64) string {
	if x >= 10 {
		return count(x) + "×"
	}
	return fmt.Sprintf("%.1f×", x)
}

// count groups the digits of a whole number by three.
func count(x float64) string {
	s := fmt.Sprintf("%.0f", x)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func table(b *strings.Builder, header []string, lines [][]string) {
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	for _, line := range append([][]string{header, rule}, lines...) {
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
	}
}
