package placement_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func check(t interface {
	Helper()
	Errorf(format string, args ...any)
}, s *snapshot.Snapshot, p *plan.Plan) {
	t.Helper()
	for _, f := range enginetest.Check(s, p) {
		t.Errorf("%s", f)
	}
}

func document(p *plan.Plan) string {
	var b bytes.Buffer
	if err := p.JSON(&b); err != nil {
		panic(err)
	}
	return b.String()
}

// In the first world a claim was made before its pool required a label of all machines.
func TestPlansOfRandomWorldsKeepEveryRule(t *testing.T) {
	keepsRules := func(t rapid.TB, seed uint64) {
		s := enginetest.World(seed)
		check(t, s, placement.Solve(s, placement.Options{}))
	}
	keepsRules(t, 0x2a98c4bc91)
	property.Check(t, func(t *rapid.T) { keepsRules(t, rapid.Uint64().Draw(t, "seed")) })
}

// In the first world the order in which the pods can be bound is hard to find.
func TestPlansOfCrowdedWorldsKeepEveryRule(t *testing.T) {
	keepsRules := func(t rapid.TB, seed uint64) {
		s, err := enginetest.Read(enginetest.Crowd(seed))
		if err != nil {
			t.Fatal(err)
		}
		check(t, s, placement.Solve(s, placement.Options{}))
	}
	keepsRules(t, 152)
	property.Check(t, func(t *rapid.T) { keepsRules(t, rapid.Uint64().Draw(t, "seed")) })
}

func TestTheOrderOfObjectsDoesNotMatter(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		s := enginetest.World(seed)
		want := document(placement.Solve(s, placement.Options{}))
		rng := rand.New(rand.NewPCG(seed, 99))
		f := s.Fork()
		rng.Shuffle(len(f.Pools), func(i, j int) { f.Pools[i], f.Pools[j] = f.Pools[j], f.Pools[i] })
		rng.Shuffle(len(f.Nodes), func(i, j int) { f.Nodes[i], f.Nodes[j] = f.Nodes[j], f.Nodes[i] })
		rng.Shuffle(len(f.Pending), func(i, j int) { f.Pending[i], f.Pending[j] = f.Pending[j], f.Pending[i] })
		if got := document(placement.Solve(f, placement.Options{})); got != want {
			t.Errorf("in another order the plan is\n%s\nwant\n%s", got, want)
		}
	})
}

// Random worlds, among them crowded ones with every rule, and a batch that is large
// enough to be searched for long.
func TestThePlanDoesNotDependOnTheNumberOfProcessors(t *testing.T) {
	worlds := []*snapshot.Snapshot{manyPods()}
	for seed := range uint64(12) {
		objectionsAt, err := enginetest.Read(enginetest.Crowd(seed))
		if err != nil {
			t.Fatal(err)
		}
		worlds = append(worlds, enginetest.World(seed), objectionsAt)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var alone []string
	for _, s := range worlds {
		alone = append(alone, document(placement.Solve(s, placement.Options{})))
	}
	for _, n := range []int{2, 7} {
		runtime.GOMAXPROCS(n)
		for i, s := range worlds {
			if got := document(placement.Solve(s, placement.Options{})); got != alone[i] {
				t.Errorf("world %d: with %d processors the plan is\n%s\nwith one\n%s", i, n, got, alone[i])
			}
		}
	}
}

func TestACacheDoesNotChangeThePlan(t *testing.T) {
	cache := &supply.Cache{}
	property.Check(t, func(t *rapid.T) {
		s := enginetest.World(rapid.Uint64().Draw(t, "seed"))
		without := document(placement.Solve(s, placement.Options{}))
		for range 2 {
			if with := document(placement.Solve(s, placement.Options{Cache: cache})); with != without {
				t.Errorf("with a cache the plan is\n%s\nwithout\n%s", with, without)
			}
		}
	})
}

func TestAPlanWithoutExplanationsIsTheSamePlan(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		s := enginetest.World(rapid.Uint64().Draw(t, "seed"))
		with, without := placement.Solve(s, placement.Options{}), placement.Solve(s, placement.Options{Unexplained: true})
		for i := range with.Unplaced {
			with.Unplaced[i].Reasons = nil
		}
		if a, b := document(with), document(without); a != b {
			t.Errorf("with explanations the plan is\n%s\nwithout\n%s", a, b)
		}
	})
}
