package suite

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/karpenter"
	"github.com/millwright-dev/millwright/bench/millwright"
	"github.com/millwright-dev/millwright/bench/workload"
)

func TestARowHoldsThePlanThatWasMade(t *testing.T) {
	row := runOn(t, onePodAMachine{typ: "c1g.02core", price: 0.072})
	if row.Wrong != nil || row.Nodes != 200 || row.Unplaced != 0 || row.Iterations != 3 {
		t.Errorf("got %+v", row)
	}
	if row.PricePerHour < 14.39 || row.PricePerHour > 14.41 {
		t.Errorf("price %v, want 14.40", row.PricePerHour)
	}
	if row.Bound.PerHour > 2 || row.Bound.PerHour < 1 {
		t.Errorf("bound %+v", row.Bound)
	}
}

func TestABurstOnLinearPricesIsCheaperThanKarpentersOnFewNodes(t *testing.T) {
	theirs, err := karpenter.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workload.All() {
		if !w.Linear {
			continue
		}
		c := config()
		c.Iterations = 1
		var rows []Row
		if err := Run(t.Context(), c, w, []bench.Engine{millwright.Engine{}, theirs}, func(r Row) { rows = append(rows, r) }); err != nil {
			t.Fatal(err)
		}
		ours, theirs := rows[0], rows[1]
		if ours.Wrong != nil || ours.Unplaced > 0 || ours.PricePerHour > theirs.PricePerHour || ours.Nodes > theirs.Nodes+4 {
			t.Errorf("%s: %d nodes for %.2f $/h, Karpenter's %d for %.2f (%v)", w.Name, ours.Nodes, ours.PricePerHour, theirs.Nodes, theirs.PricePerHour, ours.Wrong)
		}
	}
}

func TestAWrongPlanIsSaidToBeWrong(t *testing.T) {
	if row := runOn(t, onePodAMachine{typ: "c1g.02core", price: 0.001}); row.Wrong == nil {
		t.Error("a made-up price went through")
	}
}

func TestPodsLeftOutAreCountedAndNotInTheBound(t *testing.T) {
	row := runOn(t, onePodAMachine{typ: "c1g.02core", price: 0.072, skip: 150})
	if row.Unplaced != 150 || row.PlacedBound.PerHour >= row.Bound.PerHour/2 {
		t.Errorf("unplaced %d, bound %v of %v", row.Unplaced, row.PlacedBound, row.Bound)
	}
}

func TestASlowEngineGetsOneIteration(t *testing.T) {
	c := config()
	c.Enough = 0
	var rows []Row
	err := Run(t.Context(), c, workload.Samples()["identical-small"], []bench.Engine{onePodAMachine{typ: "c1g.02core", price: 0.072}}, func(r Row) { rows = append(rows, r) })
	if err != nil || len(rows) != 1 || rows[0].Iterations != 1 {
		t.Errorf("got %+v, %v", rows, err)
	}
}

func TestTheMedianIsTheMiddleValue(t *testing.T) {
	self := func(x int) int { return x }
	for _, c := range []struct {
		list []int
		want int
	}{{[]int{7}, 7}, {[]int{9, 1}, 1}, {[]int{5, 9, 1}, 5}} {
		if got := median(slices.Clone(c.list), self); got != c.want {
			t.Errorf("median of %v is %d, want %d", c.list, got, c.want)
		}
	}
}

func config() Config {
	return Config{Types: fleet.Small(), Seed: 1, Iterations: 3, CutOff: time.Minute, Enough: time.Minute}
}

func runOn(t *testing.T, e bench.Engine) Row {
	t.Helper()
	var rows []Row
	err := Run(t.Context(), config(), workload.Samples()["identical-small"], []bench.Engine{e}, func(r Row) { rows = append(rows, r) })
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %v, %v", rows, err)
	}
	return rows[0]
}

// onePodAMachine is the simplest engine that is right, if its price is.
type onePodAMachine struct {
	typ   string
	price float64
	skip  int
}

func (onePodAMachine) Name() string { return "one a machine" }

func (e onePodAMachine) Prepare(p *bench.Problem) (bench.Solve, error) {
	return func(context.Context) (func() *bench.Outcome, error) {
		o := &bench.Outcome{}
		for _, pod := range p.Pods[e.skip:] {
			o.Machines = append(o.Machines, bench.Machine{
				Pool: "default", Type: e.typ, Zone: "zone-a", CapacityType: "on-demand", Price: e.price, Pods: []types.UID{pod.UID},
			})
		}
		return func() *bench.Outcome { return o }, nil
	}, nil
}
