package placement_test

import (
	"testing"

	"github.com/millwright-dev/millwright/engine/enginetest"
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
