package pack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// Few things are what most plans are about.
func TestTenThingsCostLittleMoreThanTheyMust(t *testing.T) {
	const seeds, things = 100, 10
	models := bitset.New(24)
	models.AddRange(0, 24)
	above := 0.0
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed+1, 0))
		p := &Problem{Dims: 3, Families: []Family{{Models: models}}, Models: machines()}
		for range things {
			p.Items = append(p.Items, Item{Need: []int64{2 * size(r), 8 * size(r), 1}, Count: 1})
		}
		above += p.price(Solve(p).Boxes)/optimum(p) - 1
	}
	if t.Logf("%.2f %% above the optimum on average", 100*above/seeds); above > 0.025*seeds {
		t.Error("want 2.5 % at most")
	}
}

// Fewer boxes may leave room in the limits for what had none.
func TestWhatPackingAnewLeavesOfTheLimitsIsBought(t *testing.T) {
	models := bitset.New(24)
	models.AddRange(0, 24)
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed+1, 0))
		p := &Problem{Dims: 3, Families: []Family{{Models: models}}, Models: machines(), Limits: []int64{3}}
		for m := range p.Models {
			p.Models[m].Weighs = []int64{1}
		}
		for range 30 {
			p.Items = append(p.Items, Item{Need: []int64{20 * size(r), 80 * size(r), 1}, Count: 1})
		}
		s := Solve(p)
		if left := things(partsOf(s.Left)); left > 0 && len(s.Boxes) < 3 {
			t.Errorf("seed %d: %d of 30 are left, in %d boxes of 3", seed+1, left, len(s.Boxes))
		}
	}
}

func partsOf(counts []int) (out []Part) {
	for i, n := range counts {
		out = append(out, Part{i, n})
	}
	return out
}

// optimum is the lowest price of single things, by dynamic programming over their subsets.
func optimum(p *Problem) float64 {
	full := 1<<len(p.Items) - 1
	one, best := make([]float64, full+1), make([]float64, full+1)
	for set := 1; set <= full; set++ {
		need := make([]int64, p.Dims)
		for i, item := range p.Items {
			for d, n := range item.Need {
				need[d] += n * int64(set>>i&1)
			}
		}
		one[set], best[set] = math.Inf(1), math.Inf(1)
		for _, m := range p.Models {
			if fits(need, m.Holds) {
				one[set] = min(one[set], m.Price)
			}
		}
		for sub := set; sub > 0; sub = (sub - 1) & set {
			best[set] = min(best[set], one[sub]+best[set&^sub])
		}
	}
	return best[full]
}
