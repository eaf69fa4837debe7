package millwright

import (
	"reflect"
	"testing"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/check"
	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/workload"
)

func TestEveryPodIsPlacedOnAnHonestPlanThatIsTheSameEachTime(t *testing.T) {
	for _, name := range []string{"identical-small", "lognormal-small", "ten-pools-small", "daemonsets-small"} {
		t.Run(name, func(t *testing.T) {
			p := workload.Samples()[name].Problem(fleet.Small(), 1)
			solve, err := Engine{}.Prepare(p)
			if err != nil {
				t.Fatal(err)
			}
			first, second := solveOnce(t, solve), solveOnce(t, solve)
			if first.Placed() != len(p.Pods) {
				t.Errorf("placed %d of %d pods", first.Placed(), len(p.Pods))
			}
			if !reflect.DeepEqual(first, second) {
				t.Error("two plans of one batch differ")
			}
			c, err := check.New(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Outcome(first); err != nil {
				t.Error(err)
			}
		})
	}
}

func solveOnce(t *testing.T, solve bench.Solve) *bench.Outcome {
	t.Helper()
	read, err := solve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return read()
}
