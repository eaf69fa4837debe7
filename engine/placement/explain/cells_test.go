package explain

import (
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/engine/placement/bitset"
)

func TestNoneOfManyConstraintsCanBeLeftOut(t *testing.T) {
	const many = exact + 2
	list := make([]constraint, many+1)
	var cells []cell
	for i := range many {
		cells = append(cells, cell{fails: 1<<i | 1<<many})
	}
	if got := conflict(cells, list); got != 1<<many {
		t.Errorf("%b, want the one that all cells fail", got)
	}
	for i := range cells {
		cells[i].fails = 1 << i
	}
	if got := conflict(cells, list); got != 1<<many-1 {
		t.Errorf("%b, want all that some cell fails alone", got)
	}
}

func TestConstraintsBeyondThoseToldApartAreOne(t *testing.T) {
	list := make([]constraint, mostConstraints+6)
	for i := range list {
		list[i].out = bitset.New(len(list))
		list[i].out.Add(i)
	}
	folded := fold(list)
	if len(folded) != mostConstraints || folded[0].out.Len() != 1 {
		t.Fatalf("%d constraints, the first fails %d rows", len(folded), folded[0].out.Len())
	}
	want := []int{63, 64, 65, 66, 67, 68, 69}
	if got := slices.Collect(folded[mostConstraints-1].out.All()); !slices.Equal(got, want) {
		t.Errorf("the last fails %v, want %v", got, want)
	}
}
