package cluster

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestTargetsSayWhatWasMetAndWhatWasMissed(t *testing.T) {
	turn := func(title string, last, settled, price float64, machines, requests int) Result {
		return Result{Contestant: title, Phases: []Measure{
			{Phase: "burst", Last: last, Machines: machines, Price: price, Pods: 1000, Requests: requests},
			{Phase: "scale-in to nothing", Settled: settled},
		}}
	}
	r := Round{Pods: 1000, Results: []Result{turn(karpenterTitle, 20, 100, 25, 4, 150), turn(millwrightTitle, 10, 50, 24, 8, 700)}}
	var b strings.Builder
	r.targets(&b)
	const want = `| target | measured | wanted | |
| --- | --- | --- | --- |
| last pod Running after the burst, of Karpenter's time | 0.50 | at most 0.60 | met |
| machines more than Karpenter's after the burst, for each 1 % of the price that they save | 1.00 | at most 1.00 | met |
| $/h after the burst, of Karpenter's | 0.96 | at most 1.00 | met |
| requests a pod in the burst | 0.70 | at most 1.20 | met |
| everything gone after the scale-in to nothing, of Karpenter's time | 0.50 | at most 0.40 | **missed** |
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}

	if theirs, ours := (&Measure{Machines: 4, Price: 20}), (&Measure{Machines: 5, Price: 20}); !math.IsInf(more(theirs, ours), 1) || more(ours, theirs) != 0 {
		t.Errorf("a machine more at the same price is %v, one less %v", more(theirs, ours), more(ours, theirs))
	}

	r.Results[0].Phases[1].Err = errors.New("not finished")
	b.Reset()
	if r.targets(&b); strings.Contains(b.String(), "scale-in") {
		t.Errorf("a phase that was not finished is compared:\n%s", b.String())
	}
	r.Results = r.Results[:1]
	b.Reset()
	if r.targets(&b); b.Len() > 0 {
		t.Errorf("one contestant is compared with nothing:\n%s", b.String())
	}
}
