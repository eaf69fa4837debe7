package placement_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func manyPods() *snapshot.Snapshot {
	pods := append(enginetest.Lognormal(500, 1), enginetest.Pod("giant", 20_000, 1024))
	pool := enginetest.Pool("default", enginetest.Catalogue(0), enginetest.OnDemand())
	return enginetest.Snapshot([]*snapshot.Pool{pool}, pods)
}

func TestNoMachineIsLargerThanTheUserAllows(t *testing.T) {
	s := manyPods()
	p := placement.Solve(s, placement.Options{MaxCPU: 16})
	check(t, s, p)
	for i := range p.NewNodes {
		for _, a := range p.NewNodes[i].Alternatives {
			if cpu := a.Type.Capacity.Cpu(); cpu.Value() > 16 {
				t.Errorf("%s has %s CPUs", a.Type.Name, cpu)
			}
		}
	}
	if len(p.Unplaced) != 1 || p.Unplaced[0].Pod.Name != "giant" || p.Unplaced[0].Reasons[0].Code != plan.InsufficientResources {
		t.Errorf("unplaced: %+v, want the pod with 20 CPUs for lack of them", p.Unplaced)
	}
}

func TestEveryMachineCanBeOneOfAsManyTypesAsTheUserWants(t *testing.T) {
	s := manyPods()
	p := placement.Solve(s, placement.Options{MinTypes: 20})
	check(t, s, p)
	for i := range p.NewNodes {
		types := map[string]bool{}
		for _, a := range p.NewNodes[i].Alternatives {
			types[a.Type.Name] = true
		}
		if len(types) < 20 {
			t.Errorf("a machine of %d pods can be one of %d types, want 20", len(p.NewNodes[i].Pods), len(types))
		}
	}
	if len(p.Unplaced) > 0 {
		t.Errorf("%d pods have no place", len(p.Unplaced))
	}
}

// A plan with fewer types to choose from is one of those that the bound is about, if it puts
// the same pods on new machines of pools of the same weights, and no exotic ones.
func TestNoPlanWithFewerTypesIsBelowTheBound(t *testing.T) {
	compared := 0
	compare := func(t rapid.TB, s *snapshot.Snapshot) {
		all := placement.Solve(s, placement.Options{Unexplained: true})
		for _, cpus := range []int64{2, 4, 8, 16} {
			some := placement.Solve(s, placement.Options{Unexplained: true, MaxCPU: cpus})
			exotic := slices.ContainsFunc(some.NewNodes, func(n plan.NewNode) bool { return n.Choice.Exotic() })
			if exotic || !maps.Equal(weights(s, all), weights(s, some)) {
				continue
			}
			compared++
			if price := some.PricePerHour(); price < all.LowerBound*(1-1e-9) {
				t.Errorf("with at most %d CPUs the plan costs %g, and the bound is %g", cpus, price, all.LowerBound)
			}
		}
	}
	property.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		compare(t, enginetest.World(seed))
		crowd, err := enginetest.Read(enginetest.Crowd(seed))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, crowd)
	})
	if compared == 0 {
		t.Error("no plans were compared")
	}
}

// weights are those of the pools of the new machines, by their pods.
func weights(s *snapshot.Snapshot, p *plan.Plan) map[string]int32 {
	out := map[string]int32{}
	for i := range p.NewNodes {
		for _, pod := range p.NewNodes[i].Pods {
			out[pod.Namespace+"/"+pod.Name] = s.Pool(p.NewNodes[i].Pool).Weight
		}
	}
	return out
}
