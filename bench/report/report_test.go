package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/bench/bound"
	"github.com/millwright-dev/millwright/bench/measure"
	"github.com/millwright-dev/millwright/bench/suite"
)

func TestReportShowsBothEnginesAndTheRatio(t *testing.T) {
	got := write(t, ours(), theirs())
	for _, want := range []string{
		"| w | met | 200× | 100× | 1,000× | 4.0× | 8.00 | 10.00 | 0.800 | 8.00 | 0.0 % | 1.000 against 1.250 | 4 against 5 | 0 |",
		"**All targets are met on all 1 workloads.**",
		"| w | Millwright | 3 | 0.010 | 0.010 | 100,000 | 100,000 | 1,000 | 1.0 | 2.0 | 8.00 | 8.00 | 1.000 | 0.0 % | 4 | 0 |",
		"| w | Karpenter | 3 | 1.000 | 2.000 | 1,000 | 500 | 1,000,000 | 1.0 | 8.0 | 10.00 | 8.00 | 1.250 | 20.0 % | 5 | 0 |",
		"- on a slow machine",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
}

func TestAWrongPlanCannotWin(t *testing.T) {
	wrong := ours()
	wrong.Wrong = errors.New("pod twice\nanother")
	got := write(t, wrong, theirs())
	for _, want := range []string{"| – | 8.00 | – | wrong against 1.250 | 4 against 5 |", "- **w:** the plan is wrong", "**Millwright on w is wrong:** pod twice; another"} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
}

func TestPricesOfDifferentPodsAreNotCompared(t *testing.T) {
	cut := theirs()
	cut.CutOff, cut.Unplaced = true, 500
	got := write(t, ours(), cut)
	for _, want := range []string{"400×", "| – |", "| 500 (cut off) |"} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
}

func TestEveryTargetThatIsMissedIsNamed(t *testing.T) {
	for want, change := range map[string]func(ours, theirs *suite.Row){
		"40.0 times the pods per CPU second, promised are 100":     func(o, _ *suite.Row) { o.CPU, o.Topology = 50*time.Millisecond, true },
		"29.4 times the pods per CPU second, promised are 30":      func(o, _ *suite.Row) { o.CPU = 68 * time.Millisecond },
		"2.5 % above the bound, promised are 2":                    func(o, _ *suite.Row) { o.PricePerHour = 8.2 },
		"costs more than Karpenter":                                func(o, th *suite.Row) { o.Topology, th.PricePerHour = true, 7.99 },
		"2 pods have no place that could have one":                 func(o, th *suite.Row) { o.Unplaced, th.Unplaced, o.Bound.Impossible = 5, 5, 3 },
		"30 nodes where Karpenter has 5, for a price 20.0 % lower": func(o, _ *suite.Row) { o.Linear, o.Nodes = true, 30 },
		"0.010 s, promised are 0.005":                              func(o, _ *suite.Row) { o.Most.Wall = 5 * time.Millisecond },
		"2.0 MiB, promised are 1.0":                                func(o, _ *suite.Row) { o.Most.Heap = 1 << 20 },
	} {
		o, th := ours(), theirs()
		change(&o, &th)
		got := write(t, o, th)
		if !strings.Contains(got, "- **w:** "+want+"\n") || !strings.Contains(got, "| w | **MISSED** |") || !strings.Contains(got, "missed on 1 of 1") {
			t.Errorf("want %q alone in:\n%s", want, got)
		}
	}
}

func TestRefusingPodsIsNotSpeed(t *testing.T) {
	lazy := ours()
	lazy.Unplaced, lazy.Bound.Impossible = 800, 300
	if got := write(t, lazy); !strings.Contains(got, "| 50,000 | 50,000 |") || !strings.Contains(got, "800 (300 impossible)") {
		t.Errorf("500 pods in 10 ms are not 50,000 a second in:\n%s", got)
	}
}

func write(t *testing.T, rows ...suite.Row) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, rows, []string{"on a slow machine"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func ours() suite.Row {
	eight := bound.Bound{PerHour: 8}
	return suite.Row{
		Workload: "w", Engine: "Millwright", Pods: 1000, Iterations: 3,
		Cost:         measure.Cost{Wall: 10 * time.Millisecond, CPU: 10 * time.Millisecond, Allocs: 1000, Bytes: 1 << 20, PeakHeap: 2 << 20},
		PricePerHour: 8, Bound: eight, PlacedBound: eight, Nodes: 4,
	}
}

func theirs() suite.Row {
	r := ours()
	r.Engine, r.PricePerHour, r.Nodes = "Karpenter", 10, 5
	r.Cost = measure.Cost{Wall: time.Second, CPU: 2 * time.Second, Allocs: 1_000_000, Bytes: 1 << 20, PeakHeap: 8 << 20}
	return r
}
