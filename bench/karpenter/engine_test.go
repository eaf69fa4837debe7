package karpenter

import (
	"context"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/check"
	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/workload"
)

func TestConversionKeepsRoomPricesAndLabels(t *testing.T) {
	types := fleet.Small()
	for i, it := range InstanceTypes(types) {
		want := types[i].Allocatable()
		for name, got := range it.Allocatable() {
			if w := want[name]; got.Cmp(w) != 0 {
				t.Errorf("%s: allocatable %s is %s, want %s", it.Name, name, got.String(), w.String())
			}
		}
		for j, o := range it.Offerings {
			if w := types[i].Offerings[j]; o.Price != w.Price || o.Zone() != w.Zone || o.CapacityType() != w.CapacityType {
				t.Errorf("%s: offering %d differs: %v, want %v", it.Name, j, o, w)
			}
		}
		for _, r := range types[i].Requirements {
			if got := it.Requirements.Get(r.Key()); got.Len() != len(r.Values()) || !got.Has(r.Values()[0]) {
				t.Errorf("%s: requirement is %v, want %v", it.Name, got, r)
			}
		}
	}
}

func TestEveryPodIsPlacedOnAnHonestPlanEachTime(t *testing.T) {
	for _, name := range []string{"daemonsets-small", "ten-pools-small", "spread-small"} {
		t.Run(name, func(t *testing.T) {
			p := workload.Samples()[name].Problem(fleet.Small(), 1)
			solve := prepare(t, p)
			for range 2 { // a used scheduler would need no new machines
				o := solveOnce(t, solve, time.Minute)
				if o.Placed() != len(p.Pods) || o.CutOff {
					t.Errorf("placed %d of %d pods, cut off %v", o.Placed(), len(p.Pods), o.CutOff)
				}
				judge(t, p, o)
			}
		})
	}
}

func TestATimeLimitLeavesWhatWasPlaced(t *testing.T) {
	p := workload.Samples()["lognormal-small"].Problem(fleet.Small(), 1)
	o := solveOnce(t, prepare(t, p), time.Microsecond)
	if !o.CutOff || o.Placed() == len(p.Pods) {
		t.Errorf("placed %d of %d pods, cut off %v", o.Placed(), len(p.Pods), o.CutOff)
	}
	judge(t, p, o)
}

func prepare(t *testing.T, p *bench.Problem) bench.Solve {
	t.Helper()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	solve, err := e.Prepare(p)
	if err != nil {
		t.Fatal(err)
	}
	return solve
}

func solveOnce(t *testing.T, solve bench.Solve, limit time.Duration) *bench.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	read, err := solve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return read()
}

func judge(t *testing.T, p *bench.Problem, o *bench.Outcome) {
	t.Helper()
	c, err := check.New(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Outcome(o); err != nil {
		t.Error(err)
	}
}
