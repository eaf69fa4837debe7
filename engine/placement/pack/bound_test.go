package pack

import (
	"testing"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

// The second model has the higher price per unit of every dimension, and yet what is too large
// for the first costs least in it.
func TestTheBoundReckonsWithModelsThatAreTheBestOnlyForWhatIsLarge(t *testing.T) {
	p := &Problem{
		Dims: 2, Families: []Family{{Models: bitset.Full(3)}},
		Models: []Model{
			{Price: 1, Holds: []int64{4_000, 400}}, {Price: 3, Holds: []int64{10_000, 1_000}}, {Price: 80, Holds: []int64{200_000, 1_000_000}},
		},
	}
	for n := range int64(200) {
		p.Items = append(p.Items, Item{Need: []int64{10 * (301 + n), 301 + n}, Count: 1})
	}
	s := Solve(p)
	if price, bound := p.price(s.Boxes), s.Bound(s.Boxes); price > 250 || price < bound {
		t.Errorf("the price is %g, want 250, and the bound %g", price, bound)
	}
}
