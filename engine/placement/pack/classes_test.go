package pack

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// Of 2,000 things of 30 sizes a fifth takes a box each, and half of them may go into the boxes of
// one of three zones only: in all there are a few hundred kinds, and 60 classes.
func TestClassesArePackedByPatterns(t *testing.T) {
	all := slices.Concat(machines(), machines(), machines())
	zone := len(all) / 3
	families := make([]Family, 5)
	for f := range families {
		families[f].Models = bitset.New(len(all))
		if f < 3 {
			families[f].Models.AddRange(f*zone, (f+1)*zone)
		} else {
			families[f].Models.AddRange(0, len(all))
		}
	}
	families[4].Present, families[4].Conflicts = []Token{0}, []Token{0}
	saved := 0.0
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed+1, 0))
		p := &Problem{Dims: 3, Families: families, Models: all}
		for i := range 2_000 {
			cores := []int64{100, 250, 500, 1000, 1500}[r.IntN(5)]
			memory := []int64{100, 256, 512, 1024, 2048, 4096}[r.IntN(6)]
			family := []int{0, 1, 2, 3, 3}[r.IntN(5)]
			if i%5 == 0 {
				family = 4
			}
			p.Items = append(p.Items, Item{Family: family, Need: []int64{cores, memory, 1}, Count: 1})
		}
		s := newSolver(relax(p))
		once := s.improve(s.draft())
		solution := Solve(p)
		before, after := s.p.price(once)*s.unit, p.price(solution.Boxes)
		if slices.Max(solution.Left) > 0 || after > before*(1+rounding) {
			t.Errorf("seed %d: the price is %g, that of packing once %g; left are %v", seed+1, after, before, solution.Left)
		}
		saved += 1 - after/before
	}
	if t.Logf("%.2f %% cheaper on average", 100*saved/5); saved < 5*0.04 {
		t.Error("want 4 % at least")
	}
}
