package pack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// A NodePool of two to four large types: a box holds 20 to 500 things, a plan has 3 to 30 boxes of
// the largest.
func TestFewLargeModelsCostLittleMoreThanTheyMust(t *testing.T) {
	const seeds = 50
	for _, test := range []struct {
		models, kinds int
		above         float64 // in per cent
	}{{2, 3, 2.8}, {3, 3, 1.5}, {4, 3, 1.9}, {2, 30, 3.8}, {3, 30, 3.3}, {4, 30, 3.1}, {8, 30, 2.4}} {
		above := 0.0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed+1, uint64(test.models)))
			p := narrow(r, test.models, test.kinds+r.IntN(test.kinds+5))
			s := Solve(p)
			above += p.price(s.Boxes)/s.Bound(s.Boxes) - 1
		}
		above *= 100.0 / seeds
		if t.Logf("%d models, %d kinds and more: %.2f %% above the bound on average", test.models, test.kinds, above); above > test.above {
			t.Errorf("want %g %% at most", test.above)
		}
	}
}

// narrow has a few large models and things of so many kinds.
func narrow(r *rand.Rand, models, kinds int) *Problem {
	p := &Problem{Dims: 3, Families: []Family{{Models: bitset.New(models)}}}
	p.Families[0].Models.AddRange(0, models)
	largest := 0.0
	for _, n := range r.Perm(18)[:models] {
		cores, memory := []float64{48, 64, 96, 128, 192, 256}[n%6], []float64{2, 4, 8}[n/6]
		price := cores * (25 + memory) * (0.95 + 0.1*r.Float64())
		p.Models = append(p.Models, Model{Price: price, Holds: []int64{int64(1000 * cores), int64(1024 * cores * memory), 737}})
		largest = max(largest, 1000*cores)
	}
	per, boxes := 20*math.Pow(25, r.Float64()), float64(3+r.IntN(28))
	for range kinds {
		cpu := largest / per * math.Pow(4, 2*r.Float64()-1)
		memory := cpu * math.Pow(2, 0.5+3*r.Float64())
		count := 1 + per*boxes/float64(kinds)*2*r.Float64()
		p.Items = append(p.Items, Item{Need: []int64{int64(cpu), int64(memory), 1}, Count: int(count)})
	}
	return p
}
