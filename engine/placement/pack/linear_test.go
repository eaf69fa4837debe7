package pack

import (
	"testing"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// linear is a burst of pods of three sizes, and machines of which one of twice the size
// costs twice as much: 1 to 256 CPUs, with 2, 4 or 8 GiB each. The dimensions are
// thousandths of a CPU, MiB, and pods.
func linear(small, medium, large int) *Problem {
	p := &Problem{Dims: 3, Items: []Item{
		{Need: []int64{250, 500, 1}, Count: small},
		{Need: []int64{900, 3100, 1}, Count: medium},
		{Need: []int64{3500, 14 << 10, 1}, Count: large},
	}}
	for _, perCPU := range []int64{2 << 10, 4 << 10, 8 << 10} {
		for _, cpus := range []int64{1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256} {
			mib := cpus * perCPU
			p.Models = append(p.Models, Model{
				Price: 0.025*float64(cpus) + 1.048576e-6*float64(mib),
				Holds: []int64{1000*cpus - 100, mib - 10, min(16*cpus, 1024)},
			})
		}
	}
	models := bitset.New(len(p.Models))
	models.AddRange(0, len(p.Models))
	p.Families = []Family{{Models: models}}
	return p
}

func TestWhereTwiceTheSizeCostsTwiceAsMuchFewBoxesAreBought(t *testing.T) {
	for _, test := range []struct {
		small, medium, large, boxes int
		price                       float64
	}{
		{665, 233, 100, 6, 21.01},
		{1_998, 699, 300, 12, 62.96},
	} {
		p := linear(test.small, test.medium, test.large)
		s := Solve(p)
		if price := p.price(s.Boxes); len(s.Boxes) > test.boxes || price > test.price {
			t.Errorf("%d boxes for %.2f, want at most %d for %.2f", len(s.Boxes), price, test.boxes, test.price)
		}
	}
}
